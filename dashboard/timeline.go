package dashboard

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The size of the picture in its own units; it is scaled to the page's width.
const (
	width    = 720
	barsTop  = 26
	barsHigh = 44
)

// period is a time that the picture may show. Its bars and labels stand on whole steps of the clock, in UTC.
type period struct {
	Name   string // value of the parameter period
	length time.Duration
	step   time.Duration // of a bar
	label  time.Duration // between two labels
	format string        // of a label
}

var periods = []period{
	{"hour", time.Hour, time.Minute, 10 * time.Minute, "15:04"},
	{"day", 24 * time.Hour, 20 * time.Minute, 4 * time.Hour, "15:04"},
	{"week", 7 * 24 * time.Hour, 2 * time.Hour, 24 * time.Hour, "Mon 15:04"},
}

// keptTerms is how many terms [termlog.Read] returns at most. There may have been earlier ones.
const keptTerms = 100

// timeline is a picture of the last hour, day or week. It shows who led, how many runs began in each step, and which
// ticks did not run. On a job's page these are all that the nodes keep of it, otherwise the last of each job.
type timeline struct {
	period
	from    time.Time // the left end
	leaders string    // the leaders in words
	Terms   []box
	Changes []int // positions of the changes of leader
	Runs    bool  // it has runs
	Good    []box
	Bad     []box
	Unsure  []box // runs without an end whose leader is gone
	Missed  []box
	Labels  []time.Time // from the left end to the right one
	Summary string      // the same in words
	Most    int         // largest number of runs in a step; its bar has the full height
	Leaders []said      // who led, and when nobody did; the newest first
	Vacant  []box       // times without a known leader; Odd: at most that long
	Unknown int         // up to this position no ticks of the job are kept
	NoTerms int         // up to this position the leaders are not known
}

// said is a text with its time.
type said struct {
	at   time.Time
	Text string
}

// box is a rectangle with a title.
type box struct {
	X, Y, W, H int
	Odd        bool // every second one, so that neighbors differ
	Title      string
}

// newTimeline returns a timeline of the leaders.
func newTimeline(v *view, p period) timeline {
	t := timeline{period: p, from: v.Now.Truncate(p.step).Add(p.step - p.length)}
	for at := t.from; !at.After(t.from.Add(p.length)); at = at.Add(p.label) {
		t.Labels = append(t.Labels, at)
	}
	t.leaders = t.terms(v)
	t.Summary = fmt.Sprintf("Since %s: %s.", t.since(t.from, v), t.leaders)
	return t
}

// Label returns a label.
func (t timeline) Label(at time.Time) template.HTML {
	return timeElement(at, "UTC", at.Format(t.format))
}

func (t *timeline) since(at time.Time, v *view) string { return clockTime(at, v.Now, "UTC") + " UTC" }

// terms draws each term, up to its last known time, and the times between the terms. It returns what there is to say.
func (t *timeline) terms(v *view) string {
	if !v.TermsKnown {
		t.NoTerms = width
		return "the changes of the leader are not known"
	}
	if len(v.Terms) == 0 {
		t.NoTerms = width
		return "no term of a leader is recorded"
	}
	if oldest := v.Terms[len(v.Terms)-1].Since; len(v.Terms) >= keptTerms && oldest.After(t.from) {
		t.NoTerms = t.x(oldest)
	}
	for i, term := range v.Terms {
		if !term.Until.After(t.from) {
			continue
		}
		title := fmt.Sprintf("%s led from %s, term %d", term.Replica, t.since(term.Since, v), term.Term)
		if !term.Ended && (v.Leader == nil || v.Leader.Term != term.Term) {
			title += ", end not recorded"
		}
		t.Terms = append(t.Terms, t.box(term.Since, term.Until, (len(v.Terms)-i)%2 == 1, title))
		if !term.Since.Before(t.from) {
			t.Changes = append(t.Changes, t.x(term.Since))
		}
		t.Leaders = append(t.Leaders, said{term.Since, title})
	}
	text := number(len(t.Changes), "change of the leader", "changes of the leader") + t.vacant(v)
	slices.SortStableFunc(t.Leaders, func(a, b said) int { return b.at.Compare(a.at) })
	if t.NoTerms > 0 {
		return "at least " + text
	}
	return text
}

// vacant draws the times without a known leader, and returns how long they are.
func (t *timeline) vacant(v *view) string {
	sum, most := ops.Duration(0), ""
	for _, g := range v.Gaps {
		if !g.To.After(t.from) {
			break
		}
		length := ops.Duration(g.To.Sub(later(g.From, t.from)))
		title := fmt.Sprintf("no leader from %s to %s (%v)", t.since(g.From, v), t.since(g.To, v), length)
		if !g.Sure {
			most = "at most "
			title = fmt.Sprintf("no leader is known from %s to %s (at most %v): the previous one did not record its end",
				t.since(g.From, v), t.since(g.To, v), length)
		}
		t.Vacant = append(t.Vacant, t.box(g.From, g.To, !g.Sure, title))
		t.Leaders = append(t.Leaders, said{g.From, title})
		sum += length
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf(", %s%v without a leader", most, sum)
}

// lastRuns draws the last run of each job, and its newest tick if that did not run.
func (t *timeline) lastRuns(v *view) {
	each := make([]tally, t.length/t.step)
	for _, r := range v.last {
		t.add(each, r, v)
	}
	for i := range v.Jobs {
		if j := &v.Jobs[i]; j.WhyTick != nil && !j.Paused {
			t.spread(each, &scheduler.Record{Run: scheduler.Run{Tick: *j.WhyTick}})
		}
	}
	all := t.draw(each)
	if v.JobsKnown {
		t.Summary += fmt.Sprintf(" The last runs of the jobs: %v.", all)
	}
}

// addRuns draws the kept ticks of a job. The time before the oldest of them, or before the nodes lost them, is unknown.
func (t *timeline) addRuns(records []scheduler.Record, lost time.Time, v *view) {
	known := lost
	if len(records) >= maxRecords {
		oldest := slices.MinFunc(records, func(a, b scheduler.Record) int { return begin(&a).Compare(begin(&b)) })
		known = later(known, begin(&oldest))
	}
	each := make([]tally, t.length/t.step)
	for i := range records {
		t.add(each, &records[i], v)
	}
	all := t.draw(each)
	if !known.After(t.from) {
		t.Summary = fmt.Sprintf("Since %s: %v, %s.", t.since(t.from, v), all, t.leaders)
		return
	}
	t.Unknown = max(t.x(known), 1)
	t.Summary = fmt.Sprintf("Since %s (no earlier ticks are kept): %v. %s", t.since(known, v), all, t.Summary)
}

// add counts a run, or ticks that did not run.
func (t *timeline) add(each []tally, r *scheduler.Record, v *view) {
	if r.State == scheduler.StateMissed || r.State == scheduler.StateSkipped {
		t.spread(each, r)
	} else if i, ok := t.bar(begin(r)); ok {
		each[i].add(r, v.isGone)
	}
}

// bar returns the bar of an instant. ok is false if it is not in the picture.
func (t *timeline) bar(at time.Time) (i int, ok bool) {
	i = int(at.Sub(t.from) / t.step)
	return i, !at.Before(t.from) && i < int(t.length/t.step)
}

const mostTicks = 7 * 24 * 60 * 60 // in a week; no job has more

// spread counts the ticks that a row stands for, at their approximate times: if it stands for many, they are spread
// evenly. A node may send a nonsensical range.
func (t *timeline) spread(each []tally, r *scheduler.Record) {
	n, gap := min(max(r.Ticks, 1), mostTicks), time.Duration(0)
	if n > 1 {
		gap = max(r.Tick.Sub(r.From)/time.Duration(n-1), 0)
	}
	if i, ok := t.bar(r.Tick); ok && gap == 0 {
		each[i].missed += n
	}
	for i := 0; i < len(each) && gap > 0; i++ {
		begin := t.from.Add(time.Duration(i) * t.step)
		upTo := func(at time.Time) int { return min(max(int((r.Tick.Sub(at)+gap)/gap), 0), n) } // ticks at or after at
		each[i].missed += upTo(begin) - upTo(begin.Add(t.step))
	}
}

// draw draws the bars, and returns their sum.
func (t *timeline) draw(each []tally) (all tally) {
	t.Runs = true
	for _, one := range each {
		t.Most = max(t.Most, one.runs)
		all = tally{all.runs + one.runs, all.bad + one.bad, all.unsure + one.unsure, all.missed + one.missed}
	}
	for i, one := range each {
		from := t.from.Add(time.Duration(i) * t.step)
		clock := from.Format(t.format)
		if t.step > time.Minute {
			clock += " to " + from.Add(t.step).Format("15:04")
		}
		bar := t.box(from, from.Add(t.step), false, fmt.Sprintf("%s: %s", clock, one))
		bar.X, bar.W = bar.X+1, bar.W-2
		bottom := barsTop + barsHigh
		for _, stack := range []struct {
			n  int
			to *[]box
		}{{one.good(), &t.Good}, {one.unsure, &t.Unsure}, {one.bad, &t.Bad}} {
			if stack.n == 0 {
				continue
			}
			bar.H = max(stack.n*barsHigh/t.Most, 3)
			bar.Y = max(bottom-bar.H, barsTop)
			bottom = bar.Y
			*stack.to = append(*stack.to, bar)
		}
		if one.missed > 0 {
			bar.Y, bar.H = barsTop+barsHigh+6, 12
			t.Missed = append(t.Missed, bar)
		}
	}
	return all
}

// box returns the box of a time, as far as it is in the picture.
func (t *timeline) box(from, to time.Time, odd bool, title string) box {
	begin := t.x(from)
	return box{X: begin, W: max(t.x(to)-begin, 1), Odd: odd, Title: title}
}

// x returns the position of an instant, or that of the nearest end of the picture.
func (t *timeline) x(at time.Time) int {
	in := min(max(at.Sub(t.from), 0), t.length)
	return int(in * width / t.length)
}

// tally is how many runs began, and how many ticks did not run, in some time.
type tally struct{ runs, bad, unsure, missed int }

func (t *tally) add(r *scheduler.Record, isGone func(token uint64) bool) {
	t.runs++
	switch r.State {
	case scheduler.StateFailed, scheduler.StateLost, scheduler.StateInterrupted:
		t.bad++
	case scheduler.StateRunning:
		if isGone(r.Token) {
			t.unsure++
		}
	}
}

// good returns how many runs succeeded or are still running.
func (t tally) good() int { return t.runs - t.bad - t.unsure }

func (t tally) String() string {
	parts := []string{number(t.runs, "run", "runs")}
	if t.bad > 0 {
		parts = append(parts, fmt.Sprintf("%d of them failed, lost or interrupted", t.bad))
	}
	if t.unsure > 0 {
		parts = append(parts, fmt.Sprintf("the end of %d of them unknown", t.unsure))
	}
	if t.missed > 0 {
		parts = append(parts, number(t.missed, "tick not run", "ticks not run"))
	}
	return strings.Join(parts, ", ")
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
