package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// report prints a line for each figure, with its limit if it has one. At the end it prints the limits that were missed.
type report struct {
	unjudged bool // the numbers of jobs are not those that the limits are made for
	row      row
	open     map[string]limit // limits of the row whose figure was not printed yet
	missed   []string
	rows     map[string]recorded // that were measured, for -record
	mu       sync.Mutex          // guards the rest
	failed   int                 // calls of the row that failed
	lastErr  error
}

const layout = "%-58s %9s %9s %8s  %-24s %s\n"

func (r *report) head() {
	fmt.Printf(layout, "", "redlockfx", "beside", "ratio", "beside it is", "limit")
}

func (r *report) begin(of row) {
	r.row, r.open = of, maps.Clone(of.limits)
	maps.DeleteFunc(r.open, func(_ string, l limit) bool { _, is := l.bounds[nodes]; return !is })
	r.failed, r.lastErr = 0, nil
}

// figure prints a number that stands alone.
func (r *report) figure(name string, value float64) {
	f := figure{Name: name, Value: value, Limit: r.judge(name, value, 0)}
	r.keep(f)
	fmt.Printf(layout, r.row.name+": "+name, format(value), "", "", "", f.Limit)
}

// compare prints a number with another one beside it.
func (r *report) compare(name string, value, beside, ratio float64, is string) {
	f := figure{name, value, beside, ratio, is, r.judge(name, value, ratio)}
	r.keep(f)
	fmt.Printf(layout, r.row.name+": "+name, format(value), format(beside), format(ratio), is, f.Limit)
}

func (r *report) keep(f figure) {
	row := r.rows[r.row.name]
	row.Figures = append(row.Figures, f)
	r.rows[r.row.name] = row
}

// latency prints p50 and p99, alone if beside is empty.
func (r *report) latency(name string, took, beside []time.Duration, is string) {
	for _, percent := range []int{50, 99} {
		name, value := fmt.Sprintf("%s, p%d ms", name, percent), ms(quantile(took, percent))
		if len(beside) == 0 {
			r.figure(name, value)
			continue
		}
		other := ms(quantile(beside, percent))
		r.compare(name, value, other, value/other, is)
	}
}

// judge compares a figure with its limit, and returns what to print about it. If several lines have the same name, only
// the first is judged.
func (r *report) judge(name string, value, ratio float64) string {
	l, found := r.open[name]
	if !found || r.unjudged {
		return ""
	}
	delete(r.open, name)
	got, of, relation, bound := value, "", "<=", l.bounds[nodes]
	if l.ofRatio {
		got, of = ratio, "ratio "
	}
	ok := got <= bound
	if l.isLeast {
		relation, ok = ">=", got >= bound
	}
	text := fmt.Sprintf("%s%s %s", of, relation, format(bound))
	if ok {
		return text + ": ok"
	}
	r.missed = append(r.missed, fmt.Sprintf("%s: %s: %s, must be %s", r.row.name, name, format(got), text))
	return text + ": MISSED"
}

// fail counts a failed call. It may be called concurrently.
func (r *report) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	r.lastErr = err
}

// end prints how many calls of the row failed. A limit without a figure counts as missed.
func (r *report) end() {
	if row, measured := r.rows[r.row.name]; measured {
		row.Failed = r.failed
		r.rows[r.row.name] = row
	}
	if r.failed > 0 {
		fmt.Printf("    failed calls: %d, the last with: %.200v\n", r.failed, r.lastErr)
	}
	if r.unjudged {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.open)) {
		r.missed = append(r.missed, fmt.Sprintf("%s: %s: not measured", r.row.name, name))
	}
}

func (r *report) summarize() (missed bool) {
	fmt.Println()
	for _, text := range r.missed {
		fmt.Println("MISSED", text)
	}
	return len(r.missed) > 0
}

// format shows about three digits.
func format(x float64) string {
	switch {
	case x == float64(int64(x)) || x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.3g", x)
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
