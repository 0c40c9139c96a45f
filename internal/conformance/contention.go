package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var contentionCases = []Case{
	{Name: "At most one of a hundred concurrent attempts wins", Sizes: []int{1, 3}, Run: hundredTry},
	{Name: "Processes that acquire again and again take turns, with rising tokens", Run: turns, Server: clocks},
	{Name: "Holders are distinguished by their whole value", Run: likeValues},
}

// redislock TestObtain_concurrent; rueidislock TestLocker_TryWithContext_MultipleLocker; RedLock.net TestRaceForQuorum.
// Split votes may leave a round without a winner; a caller that tries alone then wins.
func hundredTry(t *testing.T, w *World) {
	var processes []*Process
	for range 5 {
		processes = append(processes, w.Process(t))
	}
	token := uint64(0)
	for round := range 2 {
		var winners atomic.Int64
		var tries sync.WaitGroup
		var lease atomic.Pointer[redlock.Lease]
		for i := range 100 {
			tries.Go(func() {
				won, err := processes[i%len(processes)].TryAcquire(t.Context(), "x")
				if err == nil {
					winners.Add(1)
					lease.Store(won)
				} else if !errors.Is(err, redlock.ErrHeld) && !errors.Is(err, redlock.ErrNoQuorum) {
					t.Error(err)
				}
			})
		}
		tries.Wait()
		if n := winners.Load(); n > 1 {
			t.Errorf("round %d: %d winners", round, n)
		}
		won := lease.Load()
		if won == nil {
			w.left(t, 0, "x")
			won = processes[0].take(t, "x")
		}
		if won.Token() <= token {
			t.Errorf("round %d: token %d after %d", round, won.Token(), token)
		}
		token = won.Token()
		release(t, won)
		w.left(t, 0, "x")
	}
}

// ShedLock fuzzTestShouldPass; rueidislock TestLocker_WithContext_MultipleLocker; RedLock.net
// TestRaceForQuorumMultiple. The counters are read and written separately, as by a program that relies on the lock.
func turns(t *testing.T, w *World) {
	const processes, each = 8, 6
	var counters [2]atomic.Int64
	var tokens [2]atomic.Uint64
	var workers sync.WaitGroup
	for i := range processes {
		p := w.Process(t)
		counter, token, name := &counters[i%2], &tokens[i%2], fmt.Sprint("counter ", i%2)
		workers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
			defer cancel()
			for range each {
				err := p.Do(ctx, name, func(ctx context.Context, lease *redlock.Lease) error {
					if last := token.Swap(lease.Token()); last >= lease.Token() {
						t.Errorf("token %d after %d", lease.Token(), last)
					}
					n := counter.Load()
					_, err := p.Holder(ctx, name) // takes some time
					counter.Store(n + 1)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	for i := range counters {
		if got, want := counters[i].Load(), int64(processes/2*each); got != want {
			t.Errorf("counter %d is %d, want %d", i, got, want)
		}
	}
	w.left(t, 0, "counter 0", "counter 1")
}

// C12: redislock lets "worker-1" take what "worker-10" holds.
func likeValues(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	for i, values := range [][2]string{{"worker-10", "worker-1"}, {"worker-1", "worker-10"}, {"", ""}, {"a", "a"}} {
		name := fmt.Sprint("x", i) // a late vote for the rival may take a lock that is released at the end
		lease := w.takeAll(t, p, name, redlock.WithValue(values[0]))
		mine := w.holder(t, name, 0)
		_, err := rival.TryAcquire(t.Context(), name, redlock.WithValue(values[1]))
		want.Err(t, err, redlock.ErrHeld)
		_, err = p.TryAcquire(t.Context(), name, redlock.WithValue(values[0])) // nor the holder itself
		want.Err(t, err, redlock.ErrHeld)
		if got := w.holder(t, name, 0); got != mine {
			t.Errorf("%q became %q", mine, got)
		}

		// Also for extensions, a value that is a prefix of ours, or extends ours, belongs to another holder.
		w.put(t, name, mine+"0", TTL, w.majority()...)
		want.Err(t, lease.Extend(t.Context()), redlock.ErrLost)
		if got := w.holder(t, name, 0); got != mine+"0" {
			t.Errorf("%q became %q", mine+"0", got)
		}
		w.drop(t, name, w.all()...)
	}
}
