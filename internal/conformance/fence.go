package conformance

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var fenceCases = []Case{
	{
		Name:  "Tokens increase, whichever nodes grant them and lose their data in between",
		Sizes: []int{3, 5}, Own: true, Run: tokens, Server: restarts,
	},
}

// C10: none of the locks has tokens. Redisson testTokenIncrease.
func tokens(t *testing.T, w *World) {
	const maxTTL = 2 * time.Second
	w = w.under(w.Prefix + "-fence")
	w.age(t, maxTTL)
	var processes []*Process
	for range 3 {
		processes = append(processes,
			w.Process(t, redlock.WithTTL(maxTTL), redlock.WithNodeTimeout(maxTTL/4)))
	}
	first := w.takeAll(t, processes[0], "x")
	last := first.Token()
	release(t, first)
	for _, i := range w.all() {
		w.Backup(i)
	}
	// The worst case comes first, because servers get few rounds: all nodes are flushed, then a majority has older
	// data, and so on.
	some := [][]int{w.all(), w.majority(), w.minority()}
	for round := range w.Rounds {
		p := processes[rand.IntN(len(processes))]
		if away := rand.Perm(w.Size())[:rand.IntN(w.Size()/2+1)]; len(away) > 0 {
			p.Cut(away...)
		}
		lease := p.take(t, "x", redlock.WithLeaseTTL(maxTTL/4))
		if lease.Token() <= last {
			t.Fatalf("round %d: token %d after %d", round, lease.Token(), last)
		}
		last = lease.Token()
		if rand.IntN(3) == 0 {
			lease.Abandon()
		} else {
			_ = lease.Release(t.Context()) // may have run out on a busy machine
		}
		p.Heal()
		if round%4 != 2 { // the last round is a grant
			continue
		}
		event := round / 4
		for _, i := range some[event%3] {
			if event%2 == 1 {
				w.RestartFromBackup(i)
			} else if err := w.Raw(i).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		w.joined(t, processes...) // who hears all nodes has the lost ones replaced
	}
}
