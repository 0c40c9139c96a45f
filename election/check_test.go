package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestCheck_DrainForever(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 2*time.Minute, election.WithDrainTimeout(100*365*24*time.Hour))
		a.leads()
		a.stop()
		time.Sleep(time.Minute)
		if err := a.Check(); err != nil {
			t.Errorf("while it drains: %v", err)
		}
	})
}

// A hook that does not return holds the leader's lease, and nobody else can lead: only a restart helps.
func TestCheck_FailsWhileRunIsHeldUp(t *testing.T) {
	var hung chan struct{} // the called function waits for it; set in each bubble
	for what, test := range map[string]struct {
		opts []election.Option
		says string
	}{
		"Attempt": {hooked(election.Hooks{Attempt: func(time.Duration, error) { <-hung }}), "has not returned for 40s"},
		"Elected": {hooked(election.Hooks{Elected: func(*election.Term) { <-hung }}), "has not returned for 40s"},
		"Renewed": {hooked(election.Hooks{Renewed: func(*election.Term, int, time.Duration, error) { <-hung }}), "has not returned for"},
		"Ended":   {hooked(election.Hooks{Ended: func(*election.Term, error) { <-hung }}), "has not returned for"},
		"Drained": {hooked(election.Hooks{Drained: func(*election.Term, time.Duration, bool) { <-hung }}), "has not returned for"},
		"the panic handler": {[]election.Option{
			election.WithPanicHandler(func(*election.PanicError) { <-hung }),
			election.OnLeader(func(context.Context) { panic("oops") }),
		}, "still running"},
	} {
		t.Run(what, func(t *testing.T) {
			inSeries(t, 3, func(t *testing.T, c *cluster) {
				hung = make(chan struct{})
				p := c.candidate("a", append(test.opts, election.WithMaxTenure(2*ttl))...).run()
				time.Sleep(4 * ttl)
				want.Text(t, p.Check(), test.says)
				close(hung) // let it return
				p.stop()
				<-p.ended
				if err := p.Check(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func hooked(h election.Hooks) []election.Option { return []election.Option{election.WithHooks(h)} }

// hangsIn returns a logger that hangs in a line until it is let go.
func hangsIn(line string) (logger *zap.Logger, let func()) {
	hung := make(chan struct{})
	core, _ := observer.New(zap.InfoLevel)
	return zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if e.Message == line {
			<-hung
		}
		return nil
	})), func() { close(hung) }
}

// If the logger hangs, the term never begins.
func TestCheck_FailsWhileTheLoggerHangs(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		logger, let := hangsIn("this replica leads")
		a := c.candidate("a", election.WithLogger(logger)).run()
		time.Sleep(4 * ttl)
		want.Text(t, a.Check(), "the logger has not returned for 40s")
		let()
		a.leads()
	})
}

func TestOnLeader_ALoggerThatHangsOnItsPanicIsAHungCallback(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		logger, let := hangsIn("a callback panicked")
		defer let()
		panics := make(chan struct{})
		a := c.candidate("a", election.WithLogger(logger), election.WithPanicHandler(func(*election.PanicError) {}),
			election.OnLeader(func(context.Context) {
				<-panics
				panic("boom")
			}))
		a.run()
		a.leads()
		close(panics)
		time.Sleep(4 * ttl) // the drain timeout, the margin and the rest of the lease
		if n := c.held(); n > 0 {
			t.Errorf("four TTLs after the panic its lock is on %d nodes", n)
		}
		want.Text(t, a.Check(), "still running")
	})
}

// The clocks of three nodes are an hour apart, so no two of them make a majority. Nobody can lead until they are synchronized.
func TestCheck_FailsWhileTheNodesClocksLetNobodyLead(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		for node := range 3 {
			c.Jump(node, time.Duration(node)*time.Hour)
		}
		a := c.candidate("a", election.WithLogger(zap.New(core))).run()
		b := c.candidate("b").run()
		time.Sleep(5 * time.Minute)
		for _, p := range []*candidate{a, b} {
			want.Text(t, p.Check(), "nobody can lead because of the nodes' clocks: synchronize them", "off the others', 400ms is allowed")
			if errors.Is(p.Check(), election.ErrRestart) {
				t.Error("a restart does not help")
			}
		}
		if n := logs.FilterMessage("a problem does not end by itself: somebody must act").Len(); n != 1 {
			t.Errorf("logged %d times", n)
		}
		c.Jump(1, -time.Hour)
		time.Sleep(time.Minute)
		want.NoError(t, a.Check(), b.Check())
	})
}

// A replica has one of three nodes in its list, which only a person may accept.
func TestCheck_FailsWhileTheListOfNodesNeedsAPerson(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		locker, links := c.LockerOf([]int{1})
		a := c.candidateOf(locker, links, "x", "a").run()
		time.Sleep(5 * time.Minute)
		want.Text(t, a.Check(), "nobody can lead with these nodes", "redlockctl nodes --join")
	})
}

// Two nodes of three have lost their data, and the third one is down: two would be enough for a list that is not new.
func TestCheck_FailsWhileANodeOfANewListIsDown(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.candidate("a").run()
		a.leads()
		for node := range 3 {
			c.Kill(node)
		}
		for node := range 2 {
			c.Wipe(node)
			c.Restart(node)
		}
		time.Sleep(5 * time.Minute)
		want.Text(t, a.Check(), "needs all of them: start those that do not answer", "it is in no list")
		c.Restart(2)
		time.Sleep(time.Minute)
		want.NoError(t, a.Check())
		a.leads()
	})
}

func TestCheck_IsNilDuringAnOutage(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.candidate("a").run()
		a.leads()
		for node := range 3 {
			c.Kill(node)
		}
		time.Sleep(10 * time.Minute)
		want.NoError(t, a.Check())
	})
}
