package election_test

import (
	"context"
	"math"
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
		a := c.replica("a", 2*time.Minute, election.WithDrainTimeout(math.MaxInt64))
		a.leads()
		a.stop()
		time.Sleep(time.Minute)
		if err := a.Check(); err != nil {
			t.Errorf("while it drains: %v", err)
		}
	})
}

// A hook that does not return holds the leader's lease, and nobody else can lead: only a restart helps.
func TestCheck_NamesWhatHoldsRunUp(t *testing.T) {
	var hung chan struct{} // the called function waits for it; set in each bubble
	for what, opts := range map[string][]election.Option{
		"the hook Attempt": {election.WithHooks(election.Hooks{Attempt: func(time.Duration, error) { <-hung }})},
		"the hook Elected": {election.WithHooks(election.Hooks{Elected: func(*election.Term) { <-hung }})},
		"the hook Renewed": {election.WithHooks(election.Hooks{Renewed: func(*election.Term, int, time.Duration, error) { <-hung }})},
		"the hook Ended":   {election.WithHooks(election.Hooks{Ended: func(*election.Term, error) { <-hung }})},
		"the hook Drained": {election.WithHooks(election.Hooks{Drained: func(*election.Term, time.Duration, bool) { <-hung }})},
		"the panic handler": {
			election.WithPanicHandler(func(*election.PanicError) { <-hung }),
			election.OnLeader(func(context.Context) { panic("oops") }),
		},
	} {
		t.Run(what, func(t *testing.T) {
			inSeries(t, 3, func(t *testing.T, c *cluster) {
				hung = make(chan struct{})
				p := c.candidate("a", append(opts, election.WithMaxTenure(2*ttl, 0))...).run()
				time.Sleep(4 * ttl)
				want.Text(t, p.Check(), what)
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

// Lines that are not about the lease are also written while it is held. If the logger hangs in one, the term never begins.
func TestCheck_NamesALoggerThatHangs(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		logger, let := hangsIn("enough nodes answer again")
		a := c.candidate("a", election.WithLogger(logger))
		a.links.Cut()
		a.run()
		time.Sleep(30 * time.Second)
		a.links.Heal()
		time.Sleep(4 * ttl)
		want.Text(t, a.Check(), "the logger")
		let()
		a.leads()
	})
}

func TestOnLeader_ALoggerThatHangsOnItsPanicKeepsNoLease(t *testing.T) {
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
		time.Sleep(time.Second)
		if n := c.held(); n > 0 {
			t.Errorf("a second after the panic its lock is on %d nodes", n)
		}
		time.Sleep(time.Hour)
		want.Text(t, a.Check(), "the hook Drained, or the logger has not returned for 1h0m")
	})
}
