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

// onePage is how many jobs are listed on a page; the filter and the other pages have the rest.
const onePage = 100

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": relative, "coming": coming, "clock": clockTime, "mark": mark, "rowid": rowID,
	"acts": func(j *job, c *content) acts { return acts{j, c.Query.Back()} },
}).ParseFS(assets, "assets/*.html"))

// acts is what the forms of a job are made of.
type acts struct {
	Job  *job
	Back string // of the query
}

// content is what a template is given.
type content struct {
	*view
	Query     query
	Matching  int // jobs
	Pages     int
	Listed    []*job
	Troubled  int
	Timeline  timeline
	Actions   bool // who asks may act
	Attention []notice

	// Of the page of one job.
	One     *job
	Records []record
	Kept    int // records, also those that the query leaves out
	Changes []change
	Coming  []time.Time
}

// newContent chooses the jobs that the query asks for.
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

// onlyFailed is the view with the newest runs that failed in place of the newest of all.
func (v view) onlyFailed() *view {
	v.Runs = []record{}
	for _, r := range v.last {
		one := []record{recordOf(r, v.Now)}
		if v.forgetRuns(one); one[0].failed() && len(v.Runs) < newestRuns {
			v.Runs = append(v.Runs, one[0])
		}
	}
	return &v
}

// newJobContent is of the one job that the query names, which is there.
func newJobContent(v *view, q query, h history, actions bool) *content {
	v.Problems = slices.Concat(v.Problems, // others share those of v
		h.records.stale("the ticks of this job", v.Now), h.changes.stale("the changes of this job", v.Now))
	c := &content{view: v, Query: q, Actions: actions, One: v.find(q.Name), Records: []record{}, Changes: []change{}}
	for i := range h.records.value {
		one := []record{recordOf(&h.records.value[i], c.Now)}
		if v.forgetRuns(one); q.Only != "failed" || one[0].failed() {
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
	c.Timeline.addRuns(h.records.value, v.Now, lost)
	if c.One.Next != nil {
		c.Coming, _ = scheduler.Preview("CRON_TZ="+c.One.Zone+" "+c.One.Spec, nil, c.One.Next.Add(-time.Second), 5) // none: it says why
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

// mark is what became of a tick, as a sign that needs no colour.
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

// rowID names a job's elements.
func rowID(job string) string {
	h := fnv.New64a()
	h.Write([]byte(job))
	return fmt.Sprintf("j%x", h.Sum64())
}
