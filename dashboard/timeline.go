package dashboard

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The size of the picture in its own units; it is scaled to the page's width.
const (
	minutes  = 60
	perMin   = 12
	width    = minutes * perMin
	barsTop  = 26
	barsHigh = 44
	span     = minutes * time.Minute
)

// timeline is a picture of the last hour. It shows who led, and on a job's page how many runs began in each minute
// and which ticks did not run.
type timeline struct {
	Terms   []box
	Changes []int // positions of the changes of leader
	Runs    bool  // it has the runs of a job
	Good    []box
	Bad     []box
	Unsure  []box // runs without an end whose leader is gone
	Missed  []box
	Labels  []string // every ten minutes, from the oldest
	Summary string   // the same in words
	Most    int      // largest number of runs in a minute; its bar has the full height
	Leaders []said   // who led, and when nobody did; the newest first
	Vacant  []box    // times without a known leader; Odd: the start is not known
	Without duration // sum of their lengths
	Unknown int      // up to this position no ticks of the job are kept
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
func newTimeline(v *view) timeline {
	from := v.Now.Add(-span)
	t := timeline{}
	for i := range minutes/10 + 1 {
		t.Labels = append(t.Labels, from.Add(time.Duration(i)*10*time.Minute).Format("15:04"))
	}
	t.terms(v, from)
	t.Summary = "In the last hour: " + t.changes() + "."
	return t
}

func (t *timeline) changes() string {
	text := number(len(t.Changes), "change of the leader", "changes of the leader")
	if t.Without > 0 {
		text += fmt.Sprintf(", %v without a known leader", t.Without)
	}
	return text
}

// terms draws each term, up to its last known time, and the times between the terms.
func (t *timeline) terms(v *view, from time.Time) {
	for i, term := range v.Terms {
		if !term.Until.After(from) {
			continue
		}
		begin := max(x(term.Since, from), 0)
		title := fmt.Sprintf("%s led from %s, term %d", term.Replica, clockTime(term.Since, v.Now, "UTC"), term.Term)
		if !term.Ended && (v.Leader == nil || v.Leader.Term != term.Term) {
			title += ", end not recorded"
		}
		t.Terms = append(t.Terms, box{
			X: begin, W: max(min(x(term.Until, from), width)-begin, 1), Odd: (len(v.Terms)-i)%2 == 1, Title: title,
		})
		if !term.Since.Before(from) {
			t.Changes = append(t.Changes, begin)
		}
		t.Leaders = append(t.Leaders, said{term.Since, title})
	}
	for _, g := range v.Gaps {
		if !g.To.After(from) {
			break
		}
		length := duration(g.To.Sub(later(g.From, from)))
		title := fmt.Sprintf("no leader is recorded from %s to %s", clockTime(g.From, v.Now, "UTC"), clockTime(g.To, v.Now, "UTC"))
		if !g.Sure {
			title = fmt.Sprintf("no leader is known from %s to %s: the previous one did not record its end",
				clockTime(g.From, v.Now, "UTC"), clockTime(g.To, v.Now, "UTC"))
		}
		begin := max(x(g.From, from), 0)
		t.Vacant = append(t.Vacant, box{X: begin, W: max(min(x(g.To, from), width)-begin, 1), Odd: !g.Sure, Title: title})
		t.Leaders = append(t.Leaders, said{g.From, fmt.Sprintf("%s (%v)", title, length)})
		t.Without += length
	}
	slices.SortStableFunc(t.Leaders, func(a, b said) int { return b.at.Compare(a.at) })
}

// addRuns draws the ticks of a job. The time before the oldest kept record is drawn as unknown. isGone says of the token
// of a run whether its leader is gone.
func (t *timeline) addRuns(records []scheduler.Record, now, lost time.Time, isGone func(token uint64) bool) {
	t.Runs = true
	from, since := now.Add(-span), "In the last hour: "
	known := lost // the nodes had no records then
	if len(records) >= maxRecords {
		oldest := &records[len(records)-1]
		known = later(known, later(begin(oldest), oldest.Tick))
	}
	if known.After(from) {
		t.Unknown = min(x(known, from), width)
		since = fmt.Sprintf("Since %s (no earlier ticks are kept): ", clockTime(known, now, "UTC"))
	}
	var each [minutes]tally
	var all tally
	at := func(t time.Time) (minute int, ok bool) {
		minute = int(t.Sub(from) / time.Minute)
		return minute, !t.Before(from) && minute < minutes
	}
	for i := range records {
		r := &records[i]
		if r.State == scheduler.StateMissed || r.State == scheduler.StateSkipped {
			for tick := range ticksSince(r, from) {
				if minute, ok := at(tick); ok {
					each[minute].missed++
					all.missed++
				}
			}
			continue
		}
		minute, ok := at(begin(r))
		if !ok {
			continue
		}
		each[minute].add(r, isGone)
		all.add(r, isGone)
		t.Most = max(t.Most, each[minute].runs)
	}
	for i := range minutes {
		clock := from.Add(time.Duration(i) * time.Minute).Format("15:04")
		bar := box{X: i*perMin + 1, W: perMin - 2, Title: fmt.Sprintf("%s: %s", clock, each[i])}
		bottom := barsTop + barsHigh
		for _, stack := range []struct {
			n  int
			to *[]box
		}{{each[i].good(), &t.Good}, {each[i].unsure, &t.Unsure}, {each[i].bad, &t.Bad}} {
			if stack.n == 0 {
				continue
			}
			bar.H = max(stack.n*barsHigh/t.Most, 3)
			bar.Y = max(bottom-bar.H, barsTop)
			bottom = bar.Y
			*stack.to = append(*stack.to, bar)
		}
		if each[i].missed > 0 {
			bar.Y, bar.H = barsTop+barsHigh+6, 12
			t.Missed = append(t.Missed, bar)
		}
	}
	t.Summary = since + all.String() + "; in the last hour: " + t.changes() + "."
	if t.Unknown == 0 {
		t.Summary = since + all.String() + ", " + t.changes() + "."
	}
}

const mostTicks = int(span / time.Second) // no job has more

// ticksSince yields the approximate times of the ticks that a row stands for, the newest first. If it stands for
// many, they are spread evenly. A node may send a nonsensical range, so it yields mostTicks at most.
func ticksSince(r *scheduler.Record, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		var step time.Duration
		if r.Ticks > 1 {
			step = max(r.Tick.Sub(r.From)/time.Duration(r.Ticks-1), 0)
		}
		tick := r.Tick
		for range min(max(r.Ticks, 1), mostTicks) {
			if tick.Before(from) || !yield(tick) {
				return
			}
			tick = tick.Add(-step)
		}
	}
}

// x returns the position of an instant. All instants more than span before the picture share one position left of it,
// because the product could overflow.
func x(at, from time.Time) int { return int(max(at.Sub(from), -span) * width / span) }

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
