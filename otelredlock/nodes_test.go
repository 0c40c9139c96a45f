package otelredlock_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestNodes_TellOfErrorsGuardsAndClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		r := newReplica(t, nodes)
		r.run(t)
		time.Sleep(time.Second)
		if got := r.collect(t); len(got) != 3 {
			t.Errorf("a replica without trouble has the series %v", got)
		}

		nodes.Stop(0)
		time.Sleep(ttl)
		errs := 0.0
		for name, value := range r.collect(t) {
			if strings.HasPrefix(name, "redlock.node.errors") {
				errs += value
				if !strings.Contains(name, "server.address="+nodes.Addrs()[0]) {
					t.Errorf("an error of a node that lives: %s", name)
				}
			}
		}
		if errs != 1 {
			t.Errorf("%v errors of a dead node, want one", errs)
		}

		nodes.Restart(0)
		time.Sleep(ttl / 2) // the lock has expired there, and must be set again
		guarded := "redlock.node.guarded{server.address=" + nodes.Addrs()[0] + "}"
		r.want(t, map[string]float64{guarded: 1})
		time.Sleep(2 * ttl)
		r.want(t, map[string]float64{guarded: 0})

		nodes.Jump(1, time.Minute)
		time.Sleep(ttl / 2)
		r.want(t, map[string]float64{"redlock.node.clock.jumps{server.address=" + nodes.Addrs()[1] + "}": 1})
	})
}
