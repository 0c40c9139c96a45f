package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var settlingCases = []Case{
	{
		Name:  "Every mix of free, taken, dead, hung and flushed nodes has one outcome and leaves nothing",
		Sizes: []int{1, 3, 5}, Run: everyMix(func(*redis.Options) {}),
	},
	{
		Name:   "Every mix of nodes has one outcome with one connection to each",
		Run:    everyMix(func(o *redis.Options) { o.PoolSize = 1 }),
		Server: network, OnServersOnly: "in a bubble, waiting for go-redis's pool leaves a timer in a package variable, " +
			"fatal for the next bubble",
	},
	{Name: "A call that is canceled at any point leaves nothing", Run: canceledAnywhere, Server: network},
	{Name: "A grant that arrives after its release leaves nothing", Run: lateGrant, Server: network},
	{Name: "What an outage left behind is removed soon after it", Run: longOutage, Server: network},
}

// The states of a node when it is asked.
const (
	free    = iota
	taken   // another holder has the lock
	dead    // refuses connections
	hung    // does not answer
	flushed // has lost the scripts
	states
)

// mixes returns all combinations of states of n nodes, ignoring their order. With five nodes, none is flushed.
func mixes(n int) [][]int {
	kinds := states
	if n > 3 {
		kinds = flushed
	}
	var all [][]int
	var grow func(mix []int, from int)
	grow = func(mix []int, from int) {
		if len(mix) == n {
			all = append(all, slices.Clone(mix))
			return
		}
		for s := from; s < kinds; s++ {
			grow(append(mix, s), s)
		}
	}
	grow(nil, 0)
	return all
}

// C4, with redsync TestMutexQuorum and RedLock.net TestQuorum; node-redlock "succeeds when a minority
// of clients fail", "fails when a majority of clients fail".
func everyMix(change func(*redis.Options)) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		all := make(chan []int)
		var workers sync.WaitGroup
		for range 16 {
			p := w.ProcessWith(t, change)
			p.warm(t)
			inside.Of(p.Locker).List(t.Context()) // needs all nodes once
			workers.Go(func() {
				for mix := range all {
					w.play(t, p, mix)
				}
			})
		}
		for _, mix := range mixes(w.Size()) {
			all <- mix
		}
		close(all)
		workers.Wait()
	}
}

func (w *World) play(t *testing.T, p *Process, mix []int) {
	name := fmt.Sprint("free, taken, dead, hung, flushed: ", mix)
	var of [states]int
	for i, s := range mix {
		of[s]++
		switch s {
		case taken:
			w.put(t, name, records.SomebodyElse, 0, i)
		case dead:
			p.Cut(i)
		case hung:
			p.Hang(i)
		case flushed:
			if err := w.Raw(i).ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	need := len(w.majority())
	var lease *redlock.Lease
	var err error
	w.Takes(t, name, NodeTimeout, func() {
		lease, err = p.TryAcquire(t.Context(), name)
	})
	switch {
	case of[free]+of[flushed] >= need:
		if err != nil {
			t.Errorf("%s: %v", name, err)
			break
		}
		w.Takes(t, name, moment, func() { err = errors.Join(lease.Extend(t.Context()), lease.Release(t.Context())) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	case w.Size()-of[taken] < need:
		if !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("%s: got %v, want that it is held", name, err)
		}
	default:
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("%s: got %v, want no quorum", name, err)
		}
	}

	p.Heal()
	w.Await(t, "end of all but another's keys of "+name, settled, func() bool {
		return w.on(t, name) == of[taken]
	})
	for i, s := range mix {
		left := w.records().Left(t, name, w.Raw(i))
		if s == taken && (w.holder(t, name, i) != records.SomebodyElse || left <= 0) {
			t.Errorf("%s: node %d has %q for %v", name, i, w.holder(t, name, i), left)
		}
	}
}

// C5. Round trips to the nodes take 8, 16, 24 ms, so the points lie before, between and after the answers.
func canceledAnywhere(t *testing.T, w *World) {
	cause := errors.New("enough")
	var points sync.WaitGroup
	for i := range 20 {
		p := w.Process(t)
		p.warm(t)
		for node := range w.Size() {
			p.Delay(time.Duration(4*(node+1))*time.Millisecond, node)
		}
		soon := func() (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(t.Context(), time.Duration(i)*1200*time.Microsecond, cause)
		}
		points.Go(func() {
			ctx, cancel := soon()
			lease, err := p.TryAcquire(ctx, fmt.Sprint("acquire ", i))
			cancel()
			if err == nil {
				ctx, cancel := soon()
				err = lease.Release(ctx)
				cancel()
				if err != nil {
					t.Errorf("at point %d: %v", i, err)
				}
			} else if !errors.Is(err, cause) {
				t.Errorf("at point %d: %v", i, err)
			}

			if lease, err = p.Acquire(t.Context(), fmt.Sprint("extend ", i)); err != nil {
				t.Errorf("at point %d: %v", i, err)
				return
			}
			ctx, cancel = soon()
			if err := lease.Extend(ctx); err != nil && !errors.Is(err, cause) {
				t.Errorf("at point %d: %v", i, err)
			}
			if !lease.Valid() {
				t.Errorf("at point %d the lease is over", i)
			}
			cancel()
			if err := lease.Release(ctx); err != nil {
				t.Errorf("at point %d: %v", i, err)
			}
		})
	}
	points.Wait()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("acquire ", i), fmt.Sprint("extend ", i))
	}
	w.left(t, 0, names...)
}

// C6: redsync's SET lands after its release, and stays for the TTL.
func lateGrant(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	last := w.Size() - 1
	p.Delay(100*time.Millisecond, last)
	for i := range 3 {
		name := fmt.Sprint(i)
		lease := p.take(t, name)
		w.Takes(t, "Release", moment, func() { release(t, lease) })
		w.Await(t, "late grant", NodeTimeout, func() bool {
			return w.records().HasNumber(t, name, w.Raw(last))
		})
		w.left(t, 0, name)
	}
}

// P5: however long the nodes were unreachable, their records are removed soon after they answer again.
func longOutage(t *testing.T, w *World) {
	var processes []*Process
	for what, fault := range map[string]func(Links, ...int){"dead": Links.Cut, "hung": Links.Hang} {
		p := w.Process(t)
		lease := w.takeAll(t, p, what)
		fault(p)
		want.Err(t, lease.Release(t.Context()), redlock.ErrNoQuorum)
		processes = append(processes, p)
	}
	w.Lasts(t, "outage", 8*NodeTimeout, func() bool {
		return w.on(t, "dead") == w.Size() && w.on(t, "hung") == w.Size()
	})
	for _, p := range processes {
		p.Heal()
	}
	w.left(t, 0, "dead", "hung")
}
