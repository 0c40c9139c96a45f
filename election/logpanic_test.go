package election_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestOnLeader_ALoggerThatHangsOnItsPanicKeepsNoLease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		hung := make(chan struct{})
		defer close(hung)
		core, _ := observer.New(zap.InfoLevel)
		logger := zap.New(core, zap.Hooks(func(line zapcore.Entry) error {
			if line.Message == "a callback panicked" {
				<-hung
			}
			return nil
		}))
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
