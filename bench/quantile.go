package main

import (
	"cmp"
	"slices"
	"time"
)

// quantile is the smallest value that so many percent are at most; it sorts. p99 of fewer than 100
// is the largest.
func quantile[T cmp.Ordered](values []T, percent int) T {
	slices.Sort(values)
	return values[min(len(values)*percent/100, len(values)-1)]
}

func median[T cmp.Ordered](values []T) T { return quantile(values, 50) }

// latency reports p50 and p99, and returns them in ms.
func (r *report) latency(what string, took, beside []time.Duration, is string) (p50, p99 float64) {
	p50, p99 = ms(quantile(took, 50)), ms(quantile(took, 99))
	if len(beside) == 0 {
		r.figure(what, "p50 ms", p50)
		r.figure("", "p99 ms", p99)
		return p50, p99
	}
	b50, b99 := ms(quantile(beside, 50)), ms(quantile(beside, 99))
	r.compare(what, "p50 ms", p50, b50, p50/b50, is)
	r.compare("", "p99 ms", p99, b99, p99/b99, is)
	return p50, p99
}
