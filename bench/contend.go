package main

import (
	"context"
	"slices"
	"time"
)

const (
	contenders    = 50
	contendFor    = 10 * time.Second
	contendRounds = 3
	holding       = 5 * time.Millisecond
	thinking      = 20 * time.Millisecond
)

// contend measures a lock that many contenders want, compared with one contender alone.
func (b *bench) contend(ctx context.Context) {
	all := b.lockers(ctx, contenders)
	fights := []struct {
		what  string
		peers []peer
		think time.Duration // between holds
	}{
		{"", all[:1], 0},
		{"50 in one Locker", slices.Repeat(all[:1], contenders), 0},
		{"50 in 50 Lockers", all, 0},
		{"50 in 50 Lockers, 20 ms apart", all, thinking},
	}
	medians, ratios := rounds(contendRounds, len(fights), func(i int) sample {
		return b.fight(ctx, fights[i].peers, fights[i].think)
	})
	for i := 1; i < len(fights); i++ {
		what := fights[i].what
		b.report.compare(what+", holds a second", medians[i][0], medians[0][0], ratios[i][0], "one contender")
		b.report.figure(what+", extra requests a hold", medians[i][1])
		b.report.figure(what+", Jain index", medians[i][2])
	}
}

// fight makes each peer take the same lock again and again. It returns the holds a second, the extra requests of a
// hold, and the Jain index of the peers' holds. Requests are extra beyond one to acquire and one to release on each
// node. The Jain index is 1 if all peers had equally many holds, and 1/n if one had all.
func (b *bench) fight(ctx context.Context, peers []peer, think time.Duration) sample {
	name := nextName()
	holds := make([]float64, len(peers))
	start := time.Now()
	var elapsed time.Duration
	sent, _ := b.requestsDuring(ctx, func() {
		until, cancel := context.WithTimeout(ctx, contendFor)
		defer cancel()
		check(each(len(peers), len(peers), func(i int) error {
			for {
				h, err := peers[i].wait(until, name)
				if until.Err() != nil && err != nil {
					return nil
				}
				if err != nil {
					return err
				}
				holds[i]++
				time.Sleep(holding)
				if err := h.Release(ctx); err != nil {
					b.report.fail(err) // it is released in the background
				}
				time.Sleep(think)
			}
		}))
		elapsed = time.Since(start)
	})
	var total, squares float64
	for _, n := range holds {
		total += n
		squares += n * n
	}
	return sample{
		total / elapsed.Seconds(),
		float64(sent)/total - float64(2*nodes),
		total * total / (float64(len(holds)) * squares),
	}
}
