package main

import (
	"fmt"
	"strings"
	"time"
)

const hungLimit = 5 * time.Millisecond

// results are the numbers of all rows.
type results struct {
	one, many, extend race
	hung, dead        trials
}

func (r results) table() string {
	var b strings.Builder
	line := func(what, unit, ours, redsync, ratio string) {
		fmt.Fprintf(&b, "%-34s%-12s%10s%10s%8s\n", what, unit, ours, redsync, ratio)
	}
	number := func(what, unit string, ours, redsync, ratio float64) {
		line(what, unit, fmt.Sprintf("%.0f", ours), fmt.Sprintf("%.0f", redsync),
			fmt.Sprintf("%.2f", ratio))
	}
	perOp := func(what string, r race) {
		number(what, "ns/op", r.ours.ns, r.redsync.ns, r.ratio.ns)
		number("", "allocs/op", r.ours.allocs, r.redsync.allocs, r.ratio.allocs)
		number("", "bytes/op", r.ours.bytes, r.redsync.bytes, r.ratio.bytes)
	}
	latency := func(what string, t trials) {
		row := func(what, unit string, ours, redsync time.Duration) {
			line(what, unit, milliseconds(ours), milliseconds(redsync),
				fmt.Sprintf("%.2g", float64(ours)/float64(redsync)))
		}
		row(what, "p50 ms", t.ours.p50, t.redsync.p50)
		row("", "p99 ms", t.ours.p99, t.redsync.p99)
		row("", "max ms", t.ours.max, t.redsync.max)
		line("", "failed", t.ours.failures(), t.redsync.failures(), "")
	}

	line("", "", "ours", "redsync", "ratio")
	perOp("acquire+release, 1 goroutine", r.one)
	number(fmt.Sprintf("acquire+release, %d goroutines", workers), "ops/s",
		1e9/r.many.ours.ns, 1e9/r.many.redsync.ns, 1/r.many.ratio.ns)
	perOp("extend", r.extend)
	latency("acquire+release, 1 node hung", r.hung)
	latency("acquire+release, 1 node dead", r.dead)
	return b.String()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

func (t trial) failures() string { return fmt.Sprintf("%d/%d", t.failed, t.calls) }

// requirement is a sentence on what was measured and must be, and whether it is.
type requirement struct {
	text string
	ok   bool
}

func (q requirement) String() string {
	if q.ok {
		return q.text + ": ok"
	}
	return q.text + ": MISSED"
}

func (r results) requirements() []requirement {
	return []requirement{
		{fmt.Sprintf("one goroutine: ratio %.2f (must be <= 1.0)", r.one.ratio.ns),
			r.one.ratio.ns <= 1},
		{fmt.Sprintf("%d goroutines: time per op, ratio %.2f (must be <= 1.0)", workers,
			r.many.ratio.ns), r.many.ratio.ns <= 1},
		{fmt.Sprintf("one node hung: p99 %s ms, %d failed (must be < %s ms, 0)",
			milliseconds(r.hung.ours.p99), r.hung.ours.failed, milliseconds(hungLimit)),
			r.hung.ours.p99 < hungLimit && r.hung.ours.failed == 0},
		{fmt.Sprintf("allocations: %.1f an acquire+release (must be <= redsync's %.1f)",
			r.one.ours.allocs, r.one.redsync.allocs), r.one.ours.allocs <= r.one.redsync.allocs},
	}
}
