package election_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestNew_NamesEveryProblemAtOnce(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		l := c.candidate("a").locker
		for name, test := range map[string]struct {
			election string
			opts     []election.Option
			want     []string
		}{
			"names": {
				"", []election.Option{election.WithIdentity("a\n", strings.Repeat("v", 3001))},
				[]string{"name is empty", `identity "a\n"`, "value has 3001 bytes"},
			},
			"zeros": {
				"x", []election.Option{
					election.WithTTL(0), election.WithRenewal(0, 0), election.WithMaxExtensions(0),
					election.WithBackoff(0, 0), election.WithStopMargin(0),
					election.WithDrainTimeout(-1), election.OnLeader(nil),
				},
				[]string{
					"ttl 0s must be at least 100ms", "renew every 0s must be above node timeout 200ms",
					"attempts 0", "max extensions 0", "backoff 0s to 0s", "stop margin 0s must be above 0",
					"drain timeout -1ns", "callback 1 of 1 is nil",
				},
			},
			"giving up": {
				"x", []election.Option{
					election.WithCooldown(-1), election.WithStandby(-1),
					election.WithMaxTenure(10*time.Second, 20*time.Second),
				},
				[]string{
					"cooldown -1ns must not", "standby -1ns must not", "max tenure 10s must be above ttl 10s",
					"jitter 20s must be within 0 and max tenure 10s",
				},
			},
			"sum": {
				"x", []election.Option{
					election.WithStopMargin(4 * time.Second), election.WithRenewal(7*time.Second, 1),
				},
				[]string{"stop margin 4s + renew every 7s + drift 102ms must stay below ttl 10s"},
			},
			"too long": {
				"x", []election.Option{election.WithTTL(time.Minute)},
				[]string{"ttl 1m0s must not be above the locker's max ttl 10s"},
			},
		} {
			e, err := election.New(l, test.election, test.opts...)
			if e != nil || err == nil {
				t.Errorf("%s: accepted", name)
			}
			wantText(t, err, test.want...)
		}
		if _, err := election.New(nil, "x"); err == nil {
			t.Error("a nil locker was accepted")
		}
	})
}

func TestLeader_IsWhoAMajorityNames(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("o") // never campaigns
		_, err := observer.Leader(t.Context())
		wantErr(t, err, election.ErrNoLeader)

		id, value := "pod 1: \xc3\xa9", "\x00 any \xff bytes"
		a := c.candidate("a", election.WithIdentity(id, value)).run()
		term := a.leads()
		l, err := observer.Leader(t.Context())
		if err != nil || l.ID != id || l.Value != value || l.Token != term.Token() ||
			time.Until(l.Expires) > ttl {
			t.Errorf("got %+v, %v", l, err)
		}
		observer.links.Cut(0, 1)
		_, err = observer.Leader(t.Context())
		wantErr(t, err, redlock.ErrNoQuorum)
		want := []string{"{redlock}:fence:x", "{redlock}:guard", "{redlock}:lock:x"}
		if keys := c.Node(0).Keys(); !slices.Equal(keys, want) {
			t.Errorf("the observer wrote: %v", keys)
		}
	})
}

func TestTerm_ValuesAndTimes(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		if _, ok := election.TermFrom(t.Context()); ok {
			t.Error("a term from nowhere")
		}
		a := c.replica("a", 0)
		if _, ok := a.Term(); ok {
			t.Error("a term before the first")
		}
		term := a.leads()
		if got, _ := election.TermFrom(term.Context()); got != term {
			t.Error("the term's own context does not know it")
		}
		if time.Since(term.Since()) > time.Second || term.Token() == 0 {
			t.Errorf("since %v, token %d", term.Since(), term.Token())
		}
	})
}

// The first look after a pause already tells that the term is over, before any timer has run.
func TestTerm_IsInvalidAtItsDeadlineByTheClockAlone(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		term := a.leads()
		a.links.Hang()
		time.Sleep(time.Until(term.Deadline()) - time.Nanosecond)
		if !term.Valid() || !a.IsLeader() {
			t.Error("over too early")
		}
		time.Sleep(time.Nanosecond)
		if term.Valid() || a.IsLeader() {
			t.Error("valid at its deadline")
		}
	})
}

func TestCheck_SeesALoopThatDoesNotMove(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		core, stuck, free := newStuckCore()
		a := c.candidate("a", election.WithLogger(zap.New(core))).run()
		<-stuck // the loop waits in the logger for ever
		if err := a.Check(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * ttl)
		wantText(t, a.Check(), "the loop has not moved")
		close(free)
		a.leads()
		if err := a.Check(); err != nil {
			t.Error(err)
		}
	})
}

// stuckCore is a log that blocks at its first line.
type stuckCore struct {
	zapcore.Core
	stuck, free chan struct{}
}

func newStuckCore() (zapcore.Core, <-chan struct{}, chan struct{}) {
	core, _ := observer.New(zap.DebugLevel)
	s := stuckCore{core, make(chan struct{}, 100), make(chan struct{})}
	return s, s.stuck, s.free
}

func (s stuckCore) With([]zapcore.Field) zapcore.Core { return s }

func (s stuckCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, s)
}

func (s stuckCore) Write(zapcore.Entry, []zapcore.Field) error {
	s.stuck <- struct{}{}
	<-s.free
	return nil
}

func TestLog_OneLineForEachChangeOfCause(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		for i := range 3 {
			c.Node(i).RequireAuth("secret")
		}
		a := c.candidate("a", election.WithLogger(zap.New(core)))
		a.run()
		time.Sleep(10 * time.Minute)
		got := logs.TakeAll()
		if len(got) != 1 || got[0].Level != zap.WarnLevel ||
			!strings.Contains(got[0].ContextMap()["error"].(string), "NOAUTH") {
			t.Fatalf("with a wrong password: %v", got)
		}

		a.links.Cut()
		time.Sleep(10 * time.Minute)
		if got := logs.TakeAll(); len(got) != 1 || strings.Contains(got[0].ContextMap()["error"].(string), "NOAUTH") {
			t.Fatalf("after a cut: %v", got)
		}

		for i := range 3 {
			c.Node(i).RequireAuth("")
		}
		a.links.Heal()
		term := a.leads()
		time.Sleep(ttl)
		a.stop()
		<-a.ended
		got = logs.TakeAll()
		if len(got) != 2 || got[0].Message != "won" || got[1].Message != "stopped" {
			t.Fatalf("a whole term: %v", got)
		}
		if fields := got[1].ContextMap(); fields["election"] != "x" || fields["candidate"] != "a" ||
			fields["term"] != term.Token() || !strings.Contains(fields["cause"].(string), context.Canceled.Error()) {
			t.Errorf("fields %v", fields)
		}
	})
}

func TestLog_SaysOnceThatRestartedNodesGrantNothingYet(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		c.Restart(0)
		c.Restart(1)
		a := c.replica("a", 0, election.WithLogger(zap.New(core)))
		term := a.leads()
		if waited := term.Since().Sub(c.start); waited < ttl || waited > ttl+nodeTimeout {
			t.Errorf("led after %v, want max ttl", waited)
		}
		got := logs.TakeAll()
		if len(got) != 2 || got[0].Level != zap.InfoLevel || got[1].Message != "won" ||
			!strings.Contains(got[0].ContextMap()["error"].(string), "it grants nothing for another") {
			t.Errorf("logged %v", got)
		}
	})
}

func TestLog_SaysNothingWorseThanInfoWhileAllIsWell(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.WarnLevel)
		var all []*candidate
		for _, id := range []string{"a", "b", "c"} {
			p := c.replica(id, 0, election.WithLogger(zap.New(core)))
			for node := range 3 {
				p.links.Delay(time.Duration(5+node)*time.Millisecond, node)
			}
			all = append(all, p)
		}
		leader(all...)
		time.Sleep(20 * ttl)
		for _, p := range all {
			p.again()
		}
		time.Sleep(5 * ttl)
		for _, line := range logs.All() {
			t.Errorf("%s: %v", line.Message, line.ContextMap()["error"])
		}
	})
}

// The machine sleeps, and only its boot clock, or the nodes, can tell.
func TestSuspension_EndsTheTermBeforeAnythingStarts(t *testing.T) {
	for _, slept := range []time.Duration{ttl - margin - every, ttl, time.Hour} {
		bubble(t, 3, func(t *testing.T, c *cluster) {
			ticking := clock.New()
			links := c.Links()
			p := c.candidateOf(c.locker(links, redlock.WithClock(ticking)), links, "a",
				election.OnLeader(c.record("a", 0)))
			p.run()
			term := p.leads()
			time.Sleep(ttl)
			links.Hang() // no renewal helps
			left := time.Until(term.Deadline())
			ticking.Suspend(slept)
			woke := time.Now()
			if over := slept >= left; p.IsLeader() == over || term.Valid() == over {
				t.Errorf("%v before the deadline slept %v: leads %v, valid %v", left, slept, p.IsLeader(), term.Valid())
			}
			p.OnLeader(func(ctx context.Context) {
				if slept >= left && ctx.Err() == nil {
					t.Error("work was started after the deadline")
				}
			})
			<-term.Context().Done()
			if took := time.Since(woke); took > max(left-slept, 0)+250*time.Millisecond {
				t.Errorf("%v before the deadline slept %v: the context was done %v later", left, slept, took)
			}
			wantErr(t, context.Cause(term.Context()), election.ErrLost)
			links.Heal()
		})
	}
}
