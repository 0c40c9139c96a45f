package main

import (
	"fmt"
	"time"
)

// report prints the table line by line, and the requirements below it.
type report struct{ requirements []requirement }

// requirement is a sentence on what was measured and must be, and whether it is.
type requirement struct {
	text string
	ok   bool
}

const layout = "%-44s %-10s %9s %9s %9s  %s\n"

func (r *report) head() { fmt.Printf(layout, "", "", "redlock", "beside", "ratio", "beside it is") }

// compare is a figure with another one beside it.
func (r *report) compare(what, unit string, ours, beside, ratio float64, is string) {
	fmt.Printf(layout, what, unit, format(ours), format(beside), format(ratio), is)
}

// figure stands alone.
func (r *report) figure(what, unit string, ours float64) {
	fmt.Printf(layout, what, unit, format(ours), "", "", "")
}

// failures is silent where there are none.
func (r *report) failures(f failures) {
	if f.n > 0 {
		fmt.Printf("    failed and not counted: %d, the last with: %.200v\n", f.n, f.last)
	}
}

func (r *report) atMost(what string, got, limit float64) {
	r.require(what, got, "<=", limit, got <= limit)
}

func (r *report) atLeast(what string, got, limit float64) {
	r.require(what, got, ">=", limit, got >= limit)
}

func (r *report) require(what string, got float64, relation string, limit float64, ok bool) {
	text := fmt.Sprintf("%s: %s (must be %s %s)", what, format(got), relation, format(limit))
	r.requirements = append(r.requirements, requirement{text, ok})
}

// conclude prints the requirements, and tells whether any was missed.
func (r *report) conclude() (missed bool) {
	fmt.Println()
	for _, q := range r.requirements {
		verdict := "ok"
		if !q.ok {
			verdict = "MISSED"
			missed = true
		}
		fmt.Printf("%s: %s\n", q.text, verdict)
	}
	return missed
}

// format shows three digits.
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

// failures are calls that did not do what they should.
type failures struct {
	n    int
	last error
}

func (f *failures) add(err error) {
	if err != nil {
		f.n++
		f.last = err
	}
}

func (f *failures) join(g failures) {
	if g.n > 0 {
		f.n += g.n
		f.last = g.last
	}
}
