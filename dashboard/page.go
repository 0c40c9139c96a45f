package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// onePage is how many jobs one page lists.
const onePage = 100

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": relative, "coming": coming, "clock": clockTime, "mark": mark, "rowid": rowID,
	"acts": func(j *job, c *content) acts { return acts{j, c.Query.Back()} },
}).ParseFS(assets, "assets/*.html"))

// acts is the data for the forms of a job.
type acts struct {
	Job  *job
	Back string // see query.Back
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

	// Only the page of one job has these.
	One          *job
	Records      []record
	RecordsKnown bool // the records were read at least once
	Kept         int  // records, including those that the query filters out
	Changes      []change
	ChangesKnown bool
	Coming       []time.Time
}

// newContent returns the content of the page of all jobs. It lists the jobs that the query matches.
func newContent(v *view, q query, actions bool) *content {
	c := &content{view: v, Query: q, Actions: actions, Attention: attention(v)}
	for i := range v.Jobs {
		j := &v.Jobs[i]
		if j.Trouble() {
			c.Troubled++
		}
		if q.matches(j) {
			c.Listed = append(c.Listed, j)
		}
	}
	c.Matching = len(c.Listed)
	c.Pages = max((c.Matching+onePage-1)/onePage, 1)
	c.Query.Page = min(q.Page, c.Pages)
	first := (c.Query.Page - 1) * onePage
	c.Listed = c.Listed[first:min(first+onePage, c.Matching)]
	if q.Only == "failed" {
		c.view = v.onlyFailed()
	}
	c.Timeline = newTimeline(v)
	return c
}

// onlyFailed returns a view whose newest runs are only those that failed.
func (v view) onlyFailed() *view {
	v.Runs = []record{}
	for _, r := range v.last {
		one := []record{recordOf(r, v.Now)}
		if v.markUnknownRuns(one); one[0].failed() && len(v.Runs) < newestRuns {
			v.Runs = append(v.Runs, one[0])
		}
	}
	return &v
}

// newJobContent returns the content of the page of the job that the query names. The job must be in the view.
func newJobContent(v *view, q query, h history, actions bool) *content {
	v.Problems = slices.Concat(v.Problems, // a clone, because others share those of v
		h.records.stale("the ticks of this job", v.Now), h.changes.stale("the changes of this job", v.Now))
	c := &content{view: v, Query: q, Actions: actions, One: v.find(q.Name), Records: []record{}, Changes: []change{},
		RecordsKnown: !h.records.at.IsZero(), ChangesKnown: !h.changes.at.IsZero()}
	for i := range h.records.value {
		one := []record{recordOf(&h.records.value[i], c.Now)}
		if v.markUnknownRuns(one); q.Only != "failed" || one[0].failed() {
			c.Records = append(c.Records, one[0])
		}
	}
	c.Kept = len(h.records.value)
	for _, made := range h.changes.value {
		c.Changes = append(c.Changes, changeOf(made))
	}
	c.Timeline = newTimeline(v)
	var lost time.Time
	if c.One.Lost != nil {
		lost = *c.One.Lost
	}
	if c.RecordsKnown {
		c.Timeline.addRuns(h.records.value, v.Now, lost, v.isGone)
	}
	if c.One.Next != nil {
		c.Coming, _ = scheduler.Preview("CRON_TZ="+c.One.Zone+" "+c.One.Spec, nil, c.One.Next.Add(-time.Second), 5) // an error leaves the list empty
	}
	return c
}

func (c *content) render(name string) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, c); err != nil {
		return nil, fmt.Errorf("dashboard: %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// mark returns a symbol for the state of a tick, for people who do not see its color.
func mark(s scheduler.State) string {
	switch s {
	case scheduler.StateOK:
		return "✓"
	case scheduler.StateFailed:
		return "✗"
	case scheduler.StateLost, stateUnknown:
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
