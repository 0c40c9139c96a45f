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

// panicLogger returns a logger that calls fn for the line that a callback panicked.
func panicLogger(fn func()) *zap.Logger {
	core, _ := observer.New(zap.InfoLevel)
	return zap.New(core, zap.Hooks(func(line zapcore.Entry) error {
		if line.Message == "a callback panicked" {
			fn()
		}
		return nil
	}))
}

// panicking returns a callback, and a function that makes it panic.
func panicking() (panics func(), callback func(context.Context)) {
	trigger := make(chan struct{})
	return func() { close(trigger) }, func(context.Context) {
		<-trigger
		panic("boom")
	}
}

func TestOnLeader_ALoggerThatHangsOnItsPanicKeepsNoLease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		hung := make(chan struct{})
		defer close(hung)
		panics, callback := panicking()
		a := c.candidate("a", election.WithLogger(panicLogger(func() { <-hung })),
			election.WithPanicHandler(func(*election.PanicError) {}), election.OnLeader(callback))
		a.run()
		a.leads()
		panics()
		time.Sleep(time.Second)
		if n := c.held(); n > 0 {
			t.Errorf("a second after the panic its lock is on %d nodes", n)
		}
		time.Sleep(time.Hour)
		want.Text(t, a.Check(), "the hook Drained, or the logger has not returned for 1h0m")
	})
}

func TestOnLeader_ALoggerThatPanicsOnItsPanicEndsRunAlone(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		panics, callback := panicking()
		panics()
		handled := 0
		a := c.candidate("a", election.WithLogger(panicLogger(func() { panic("the logger broke") })),
			election.WithPanicHandler(func(*election.PanicError) { handled++ }), election.OnLeader(callback))
		func() {
			defer func() {
				if got := recover(); got != "the logger broke" {
					t.Errorf("Run panics with %v", got)
				}
			}()
			_ = a.Run(t.Context())
		}()
		if handled != 1 {
			t.Errorf("the handler was called %d times", handled)
		}
	})
}
