package conformance

import (
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var scriptCases = []Case{
	{Name: "Calls work when the nodes lose the scripts between them", Sizes: []int{1, 3}, Run: flushedBetween, Server: replies},
	{Name: "Calls work on nodes that keep no script", Run: neverKnown},
	{Name: "Calls work while the nodes lose the scripts", Run: flushedMeanwhile, Server: replies},
}

func (w *World) flushScripts(t *testing.T, nodes ...int) {
	for _, i := range nodes {
		if err := w.Raw(i).ScriptFlush(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
}

func flushedBetween(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	for _, nodes := range [][]int{w.minority(), w.majority(), w.all()} {
		w.flushScripts(t, nodes...)
		lease := p.take(t, "x")
		w.flushScripts(t, nodes...)
		_, err := rival.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrHeld)
		w.flushScripts(t, nodes...)
		if _, err := rival.Holder(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		w.flushScripts(t, nodes...)
		p.warm(t)
		w.flushScripts(t, nodes...)
		if err := lease.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		w.awaitOn(t, "x", w.Size())
		w.drop(t, "x", w.minority()...)
		w.flushScripts(t, nodes...)
		// The first extension does not repair if the node's answer to an earlier repair is still under way.
		w.Await(t, "repair", settled, func() bool {
			if err := lease.Extend(t.Context()); err != nil {
				t.Error(err)
			}
			return w.on(t, "x") == w.Size()
		})
		w.flushScripts(t, nodes...)
		release(t, lease)
		w.left(t, 0, "x")
	}
}

func neverKnown(t *testing.T, w *World) {
	for i := range w.Size() {
		w.cluster().SetPreHook(i, func(p *server.Peer, cmd string, _ ...string) bool {
			if cmd != "EVALSHA" {
				return false
			}
			p.WriteError("NOSCRIPT No matching script. Please use EVAL.")
			return true
		})
	}
	flushedBetween(t, w)
}

func flushedMeanwhile(t *testing.T, w *World) {
	p := w.Process(t)
	var workers sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		workers.Go(func() {
			for range w.Rounds / 10 {
				lease, err := p.TryAcquire(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				w.flushScripts(t, w.all()...)
				if err := lease.Extend(t.Context()); err != nil {
					t.Error(err)
				}
				w.flushScripts(t, w.all()...)
				release(t, lease)
			}
		})
	}
	workers.Wait()
	w.left(t, 0, "a", "b", "c", "d")
}
