package quorum_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// A caller that sends its call itself could read from a node that hangs until the node timeout.
func TestCarry_EndsWithItsContext(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		var failed []error
		config := config()
		config.Seen = func(_ int, e quorum.Exchange) { failed = append(failed, e.Err) }
		q := start(c, config)
		for range 2 { // the first call connects
			if r, err := quorum.Ask(t.Context(), q, counting(), all); err != nil || r.Answer(0).Err != nil {
				t.Fatalf("%+v, %v", r.Answer(0), err)
			}
		}
		synctest.Wait() // the node's goroutine rests: otherwise it sends the next call
		before := len(failed)
		c.Hang()
		r := askImpatiently(t, q)
		if a := r.Answer(0); !a.Over || !errors.Is(a.Err, quorum.ErrPerhapsDone) {
			t.Errorf("it was sent, and its answer is %+v", a)
		}
		if got := len(failed) - before; got != 0 {
			t.Errorf("the node is blamed: %v", failed[before:])
		}

		c.Heal()
		if r, err := quorum.Ask(t.Context(), q, counting(), all); err != nil || r.Answer(0).Err != nil {
			t.Errorf("on another connection: %+v, %v", r.Answer(0), err)
		}
	})
}

// A node that hangs is not given a new connection for each caller that has less patience than the node timeout.
func TestCarry_ANodeThatHangsCostsOneConnection(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		before := c.Node(0).TotalConnectionCount()
		c.Hang()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), timeout/20)
			if _, err := quorum.Ask(ctx, q, counting(), all); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if got := c.Node(0).TotalConnectionCount() - before; got > 2 {
			t.Errorf("%d connections for 10 impatient callers", got)
		}
	})
}

// The call is sent on a connection that the node has closed, and then again to a node that is slow to set up another.
func TestCarry_EndsAtTheNodeTimeout(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.Cut(0)
		c.Heal(0)
		c.Delay(2*timeout/5, 0)
		for range 2 {
			began := time.Now()
			r, err := quorum.Ask(t.Context(), q, counting(), all)
			if took := time.Since(began); err != nil || took > timeout {
				t.Errorf("after %v: %v, %v", took, r.Answer(0).Err, err)
			}
		}
		c.Heal(0)
		time.Sleep(timeout)
		if r, err := quorum.Ask(t.Context(), q, counting(), all); err != nil || r.Answer(0).Err != nil {
			t.Errorf("when it answers again: %+v, %v", r.Answer(0), err)
		}
	})
}

// Calls that come while one is under way share the next pipeline: none of them is carried.
func TestCarry_DoesNotHoldUpOthers(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		const delay = time.Millisecond
		c.Delay(delay)
		began := time.Now()
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				if r, err := quorum.Ask(t.Context(), q, counting(), all); err != nil || r.Answer(0).Err != nil {
					t.Errorf("%+v, %v", r.Answer(0), err)
				}
			})
			synctest.Wait()
		}
		callers.Wait()
		if took := time.Since(began); took != 4*delay {
			t.Errorf("100 calls took %v, want two round trips of %v", took, 2*delay)
		}
	})
}
