package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	contenders    = 50
	contendFor    = time.Second
	contendRounds = 5
	holding       = 5 * time.Millisecond
)

// bout is what contenders for one name came to.
type bout struct {
	rate   float64 // holds a second
	excess float64 // requests a hold, beyond one to acquire and one to release it on each node
}

// contend is of one name that many want: all in one Locker, as an app has them, or each in its own.
// What they reach is compared with one contender that nobody disturbs.
func (b *bench) contend(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), contenders, func(all []oursPeer) error {
		var lockers []*redlock.Locker
		for _, p := range all {
			lockers = append(lockers, p.locker)
		}
		const alone, together, separate = 0, 1, 2
		fights := [][]*redlock.Locker{
			alone:    lockers[:1],
			together: slices.Repeat(lockers[:1], contenders),
			separate: lockers,
		}
		var rates, shares, excesses [3][]float64
		for round := range contendRounds {
			order := []int{alone, together, separate}
			if round%2 == 1 {
				slices.Reverse(order)
			}
			var bouts [3]bout
			for _, i := range order {
				var err error
				if bouts[i], err = b.fight(ctx, fights[i]); err != nil {
					return err
				}
			}
			for i, is := range bouts {
				rates[i] = append(rates[i], is.rate)
				shares[i] = append(shares[i], is.rate/bouts[alone].rate)
				excesses[i] = append(excesses[i], is.excess)
			}
		}

		line := func(what string, i int) {
			b.report.compare(what, "a second", median(rates[i]), median(rates[alone]), median(shares[i]),
				"one contender")
			b.report.figure("", "req. extra", median(excesses[i]))
		}
		line("50 contenders in one Locker", together)
		line("50 contenders in 50 Lockers", separate)
		b.report.atLeast("50 contenders in one Locker, share of one contender's rate",
			median(shares[together]), 0.9)
		b.report.atMost("50 contenders in one Locker, requests a hold beyond two a node",
			median(excesses[together]), 5)
		return nil
	})
}

// fight has one contender for each entry of lockers, a Locker being there once or more often.
func (b *bench) fight(ctx context.Context, lockers []*redlock.Locker) (bout, error) {
	name := nextName()
	var won atomic.Int64
	var elapsed time.Duration
	sent, err := b.requestsDuring(ctx, func() error {
		start := time.Now()
		ctx, cancel := context.WithTimeout(ctx, contendFor)
		defer cancel()
		errs := make([]error, len(lockers))
		var wg sync.WaitGroup
		for i, locker := range lockers {
			wg.Go(func() {
				for errs[i] == nil && ctx.Err() == nil {
					lease, err := locker.Acquire(ctx, name)
					if err != nil && ctx.Err() != nil {
						return
					}
					if err != nil {
						errs[i] = err
						return
					}
					won.Add(1)
					time.Sleep(holding)
					errs[i] = lease.Release(ctx)
				}
			})
		}
		wg.Wait()
		elapsed = time.Since(start)
		return errors.Join(errs...)
	})
	if err != nil {
		return bout{}, err
	}
	holds := float64(won.Load())
	return bout{holds / elapsed.Seconds(), float64(sum(sent))/holds - 2*nodes}, nil
}
