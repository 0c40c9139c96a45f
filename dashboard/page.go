package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// onePage is how many jobs one page lists.
const onePage = 100

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": relative, "coming": coming, "clock": clock, "zoned": zoned, "plain": clockTime, "mark": mark, "rowid": rowID,
	"who": who, "links": func(c *content, job string) links { return links{job, c.links} },
	"acts": func(j *job, c *content) acts { return acts{j, c.Query.Back()} },
}).ParseFS(assets, "assets/*.html"))

// acts is the data for the forms of a job.
type acts struct {
	Job  *job
	Back string // see query.Back
}

// links is the data for the links of a job.
type links struct {
	Job string
	Of  []jobLink
}

// content is the data for the templates.
type content struct {
	*view
	Query     query
	Matching  int // jobs that the query matches
	Pages     int
	Listed    []*job
	Troubled  int
	Timeline  timeline
	Actions   bool // the user of this request may act
	Attention []notice
	links     []jobLink

	// Only the page of one job has these.
	One          *job
	Records      []ops.Record
	RecordsKnown bool          // the records were read at least once
	Kept         int           // records, including those that the query filters out
	Usual        *ops.Duration // how long a good run takes; nil: not known
	Changes      []ops.Change
	ChangesKnown bool
	Coming       []time.Time
}

// newContent returns the content of the page of all jobs. It lists the jobs that the query matches, those in trouble
// first.
func newContent(v *view, q query, actions bool) *content {
	c := &content{view: v, Query: q, Actions: actions, Attention: attention(v)}
	for i := range v.Jobs {
		j := &v.Jobs[i]
		if j.Trouble() {
			c.Troubled++
		}
		if j.Matches(q.Filter, q.Only) {
			c.Listed = append(c.Listed, j)
		}
	}
	slices.SortFunc(c.Listed, func(a, b *job) int { return ops.ByTrouble(&a.Job, &b.Job) })
	c.Matching = len(c.Listed)
	c.Pages = max((c.Matching+onePage-1)/onePage, 1)
	c.Query.Page = min(q.Page, c.Pages)
	first := (c.Query.Page - 1) * onePage
	c.Listed = c.Listed[first:min(first+onePage, c.Matching)]
	if q.Only == "failed" {
		c.view = v.onlyFailed()
	}
	c.Timeline = newTimeline(v, q.period(periods[0]))
	c.Timeline.lastRuns(v)
	return c
}

// onlyFailed returns a view whose newest runs are only those that failed.
func (v view) onlyFailed() *view {
	v.Runs = []ops.Record{}
	for _, r := range v.last {
		one := recordOf(r, v.Now)
		if v.loses(&one); one.Failed() && len(v.Runs) < newestRuns {
			v.Runs = append(v.Runs, one)
		}
	}
	return &v
}

// newJobContent returns the content of the page of the job that the query names. The job must be in the view.
func newJobContent(v *view, q query, h history, actions bool) *content {
	v.Problems = slices.Concat(v.Problems, // a clone, because others share those of v
		h.records.stale("the ticks of this job", v.Now), h.changes.stale("the changes of this job", v.Now))
	c := &content{
		view: v, Query: q, Actions: actions, One: v.find(q.Name), Records: []ops.Record{}, Changes: []ops.Change{},
		RecordsKnown: !h.records.at.IsZero(), ChangesKnown: !h.changes.at.IsZero(),
	}
	rows := slices.Clone(h.records.value)
	ops.SortByTick(rows)
	for i := range rows {
		one := recordOf(&rows[i], c.Now)
		if v.loses(&one); q.Only != "failed" || one.Failed() {
			c.Records = append(c.Records, one)
		}
	}
	c.Kept, c.Usual = len(rows), ops.Usual(rows)
	for _, made := range h.changes.value {
		c.Changes = append(c.Changes, safeChange(ops.ChangeOf(made)))
	}
	if c.One.Next != nil {
		c.Coming, _ = scheduler.Preview(c.One.plan(), nil, c.One.Next.Add(-time.Second), 5) // an error leaves it empty
	}
	c.Timeline = newTimeline(v, q.period(periodOf(c.Coming)))
	var lost time.Time
	if c.One.Lost != nil {
		lost = *c.One.Lost
	}
	if c.RecordsKnown {
		c.Timeline.addRuns(rows, lost, v)
	}
	return c
}

// plan returns the spec with its zone.
func (j *job) plan() string { return "CRON_TZ=" + j.Zone + " " + j.Spec }

// periodOf returns the shortest period in which a job with these next ticks has several.
func periodOf(next []time.Time) period {
	if len(next) < 2 {
		return periods[0]
	}
	for _, p := range periods[:len(periods)-1] {
		if next[len(next)-1].Sub(next[0]) <= p.length {
			return p
		}
	}
	return periods[len(periods)-1]
}

func (c *content) render(name string) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, c); err != nil {
		return nil, fmt.Errorf("dashboard: %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// Periods returns what the timeline may show.
func (c *content) Periods() []period { return periods }

// mark returns a symbol for the state of a tick, for people who do not see its color.
func mark(s scheduler.State) string {
	switch s {
	case scheduler.StateOK:
		return "✓"
	case scheduler.StateFailed:
		return "✗"
	case scheduler.StateLost, ops.StateUnknown:
		return "?"
	case scheduler.StateRunning:
		return "▶"
	case scheduler.StateInterrupted:
		return "↻"
	default:
		return "–"
	}
}

// rowID returns the ID of a job's elements.
func rowID(job string) string {
	h := fnv.New64a()
	h.Write([]byte(job))
	return fmt.Sprintf("j%x", h.Sum64())
}
