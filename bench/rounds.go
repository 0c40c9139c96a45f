package main

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// sample is the figures of one contestant in one round.
type sample []float64

// rounds measures contestants in turn, so that other work on the machine hits all of them. Every second round has the
// reverse order. For each contestant it returns the median of each figure, and the median of the rounds' ratios to
// contestant 0.
func rounds(n, contestants int, measure func(contestant int) sample) (medians, ratios []sample) {
	got, quotients := make([][]sample, contestants), make([][]sample, contestants)
	for round := range n {
		for turn := range contestants {
			i := turn
			if round%2 == 1 {
				i = contestants - 1 - turn
			}
			got[i] = append(got[i], measure(i))
		}
		for i := range contestants {
			quotient := slices.Clone(got[i][round])
			for figure, base := range got[0][round] {
				quotient[figure] /= base
			}
			quotients[i] = append(quotients[i], quotient)
		}
	}
	for i := range contestants {
		medians, ratios = append(medians, medianOf(got[i])), append(ratios, medianOf(quotients[i]))
	}
	return medians, ratios
}

// medianOf returns the median of each figure.
func medianOf(samples []sample) sample {
	medians := slices.Clone(samples[0])
	for figure := range medians {
		var values []float64
		for _, s := range samples {
			values = append(values, s[figure])
		}
		medians[figure] = quantile(values, 50)
	}
	return medians
}

// quantile returns the given percentile of values, and sorts them. The p99 of fewer than 100 values is the largest.
func quantile[T cmp.Ordered](values []T, percent int) T {
	slices.Sort(values)
	return values[min(len(values)*percent/100, len(values)-1)]
}

// each calls do with 0 to n-1 on a number of goroutines. A goroutine stops at its first error.
func each(n, goroutines int, do func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[g] == nil; i = int(next.Add(1)) - 1 {
				errs[g] = do(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// inBackground calls do with 0 to n-1, all at once, and sends their joined error when all have returned.
func inBackground(n int, do func(i int) error) <-chan error {
	over := make(chan error, 1)
	go func() { over <- each(n, n, do) }()
	return over
}
