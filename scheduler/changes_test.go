package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Whoever makes a change, and on whichever replica: the leader logs it, a hook reports it, and the nodes keep the newest twenty.
func TestChanges_AreReportedByTheLeaderAndKept(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		changes := make(chan scheduler.Change, 100)
		a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Changed: func(c scheduler.Change) { changes <- c }}))
		b := c.idle("b")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(5 * time.Second)
		for range 10 {
			for _, set := range []func() error{
				func() error { return b.Pause(t.Context(), "job") },
				func() error { return b.Trigger(t.Context(), "job", scheduler.By("alice, by \"SSO\"")) },
				func() error { return b.Resume(t.Context(), "job") },
			} {
				c.must(set())
				time.Sleep(time.Second)
			}
		}
		var reported []scheduler.Change
		for len(changes) > 0 {
			reported = append(reported, <-changes)
		}
		var names []string
		for _, change := range reported[:3] {
			at := c.at(change.At.Truncate(time.Millisecond))
			names = append(names, fmt.Sprintf("%s by %q from %s of %s at %s", change.What, change.By, change.From, change.Job, at))
		}
		wantEqual(t, "the hook got", names, []string{
			`pause by "" from b of job at 5s`, `trigger by "alice, by \"SSO\"" from b of job at 6s`, `resume by "" from b of job at 7s`,
		})
		if by := a.logs.FilterMessage("change applied").FilterField(zap.String("by", "alice, by \"SSO\"")).Len(); by != 10 {
			t.Errorf("%d of 10 triggers are logged with who made them", by)
		}
		for _, nobody := range []string{"", "a\nb", strings.Repeat("x", 201)} {
			if err := b.Trigger(t.Context(), "job", scheduler.By(nobody)); !errors.Is(err, scheduler.ErrName) {
				t.Errorf("a trigger by %q: %v", nobody, err)
			}
		}
		if logged := a.logs.FilterMessage("change applied").Len(); len(reported) != 30 || logged != 30 {
			t.Errorf("the hook reported %d changes, the log has %d", len(reported), logged)
		}
		kept, err := b.Changes(t.Context(), "job")
		if err != nil || len(kept) != 20 || kept[0] != reported[29] || kept[19] != reported[10] {
			t.Errorf("kept are %d, %v, %v", len(kept), kept, err)
		}
		if _, err := b.Changes(t.Context(), "a\nb"); !errors.Is(err, scheduler.ErrName) {
			t.Error(err)
		}
		c.must(a.Remove("job"))
		time.Sleep(time.Second)
		err = b.Forget(t.Context(), "job")
		if kept, _ := b.Changes(t.Context(), "job"); len(kept) > 0 || err != nil {
			t.Errorf("a forgotten job still has %v, %v", kept, err)
		}
	})
}

// The end of a pause needs nobody: the leader that paused the job has crashed by then.
func TestPause_EndsByItself(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "*/10 * * * * *", quick))
		b.add(b.job("job", "*/10 * * * * *", quick))
		c.SleepTo(12 * time.Second)
		until := c.Start.Add(50 * time.Second)
		c.must(b.Pause(t.Context(), "job", scheduler.By("ann"), scheduler.Until(until)))
		c.SleepTo(25 * time.Second)
		s := b.status("job")
		if !s.Paused || !s.Pause.Until.Equal(until) || !s.Next.Equal(until) || s.Reason != `paused by "ann" on "b" until 2000-01-02 00:00:50` {
			t.Errorf("while it is paused: %+v", s)
		}
		a.leaves()
		c.SleepTo(45 * time.Second)
		b.takesOver()
		c.SleepTo(61 * time.Second)
		if s := b.status("job"); s.Paused || s.Reason != "" {
			t.Errorf("after the pause: %+v", s)
		}
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "job 50s@50s", "job 1m0s@1m0s"})
	})
}

func TestUntil_IsRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(time.Second)
		later := scheduler.Until(c.Start.Add(time.Hour))
		want.Text(t, a.Trigger(t.Context(), "job", later), "trigger: Until is for a pause")
		want.Text(t, a.Resume(t.Context(), "job", later), "resume: Until is for a pause")
		want.Text(t, a.Pause(t.Context(), "job", scheduler.Until(c.Start)), "is over: the nodes' clocks show")
		want.Text(t, a.Pause(t.Context(), "job", scheduler.Until(time.Time{})), "is over")
		want.Text(t, a.Pause(t.Context(), "job", scheduler.Until(c.Start.AddDate(9000, 0, 0))), "is too far")
		if s := a.status("job"); s.Paused {
			t.Error("it is paused")
		}
	})
}

// The pause of all jobs outlives its leader, covers jobs that are added during it, and leaves a job's own pause as it is.
func TestPauseAll(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		changes := make(chan scheduler.Change, 10)
		a, b := c.leader("a"), c.idle("b", scheduler.WithHooks(scheduler.Hooks{Changed: func(c scheduler.Change) { changes <- c }}))
		a.add(a.job("job", "*/10 * * * * *", quick), a.job("own", "*/10 * * * * *", quick))
		b.add(b.job("job", "*/10 * * * * *", quick), b.job("own", "*/10 * * * * *", quick), b.job("new", "*/10 * * * * *", quick))
		c.SleepTo(12 * time.Second)
		c.must(b.Pause(t.Context(), "own", scheduler.By("bo")))
		c.must(b.PauseAll(t.Context(), scheduler.By("ann"), scheduler.Because("the database moves")))
		c.SleepTo(26 * time.Second)
		if s := b.status("job"); !s.Paused || s.Pause.What != "pause all" || !s.Next.IsZero() ||
			s.Reason != `paused with all jobs by "ann" on "b": the database moves` {
			t.Errorf("while all are paused: %+v", s)
		}
		all, err := b.Jobs(t.Context())
		if strange := slices.IndexFunc(all, func(s scheduler.Status) bool { return strings.Contains(s.Job, "all") }); strange >= 0 || err != nil {
			t.Errorf("the jobs are %+v, %v", all, err)
		}
		a.leaves()
		b.takesOver()
		c.SleepTo(42 * time.Second)
		if s := b.status("new"); !s.Paused || s.Pause.By != "ann" {
			t.Errorf("a job that was added during the pause: %+v", s)
		}
		c.must(b.ResumeAll(t.Context()))
		c.SleepTo(55 * time.Second)
		if s := b.status("own"); !s.Paused || s.Pause.By != "bo" {
			t.Errorf("after the pause of all: %+v", s)
		}
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "own 10s@10s", "job 50s@50s", "new 50s@50s"})
		if got := <-changes; got.What != "resume all" || got.Job != "" || got.From != "b" {
			t.Errorf("the hook got %+v", got)
		}
		kept, err := b.Changes(t.Context(), "")
		if err != nil || len(kept) != 2 || kept[1].Reason != "the database moves" || kept[1].What != "pause all" {
			t.Errorf("kept are %+v, %v", kept, err)
		}
		c.must(b.PauseAll(t.Context(), scheduler.Until(c.Start.Add(70*time.Second))))
		c.SleepTo(75 * time.Second)
		wantEqual(t, "ran after a pause with an end", c.ran()[4:], []string{"job 1m10s@1m10s", "new 1m10s@1m10s"})
	})
}

func TestPauseAll_OfAnElectionThatNobodyHasLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := redlocktest.New(t, 1).Replica()
		err := r.Scheduler.PauseAll(t.Context())
		want.Err(t, err, scheduler.ErrUnknownJob)
		want.Text(t, err, "no leader of the election")
	})
}
