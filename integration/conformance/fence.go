package conformance

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var fenceCases = []Case{
	{Name: "Tokens increase over releases, ends, quorums and forgetful nodes", Sizes: []int{3, 5}, Own: true, Run: tokens},
}

// C10: nobody has them. Redisson testTokenIncrease.
func tokens(t *testing.T, w *World) {
	const maxTTL = 2 * time.Second
	w = w.under(w.Prefix + "-fence")
	w.age(t, maxTTL)
	var processes []*Process
	for range 3 {
		processes = append(processes,
			w.Process(t, redlock.WithTTL(maxTTL), redlock.WithNodeTimeout(maxTTL/4)))
	}
	last := uint64(0)
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
			_ = lease.Release(t.Context()) // it may have run out on a busy machine
		}
		p.Heal()
		if round%5 == 4 {
			for _, i := range rand.Perm(w.Size())[:1+rand.IntN(w.Size())] {
				if err := w.Raw(i).FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
