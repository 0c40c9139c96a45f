package scheduler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

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
				func() error { return b.Trigger(scheduler.As(t.Context(), "alice, by \"SSO\""), "job") },
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
			if err := b.Trigger(scheduler.As(t.Context(), nobody), "job"); !errors.Is(err, scheduler.ErrName) {
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
		if _, err := b.Changes(t.Context(), ""); !errors.Is(err, scheduler.ErrName) {
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
