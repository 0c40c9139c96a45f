package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// onePage is how many jobs are listed on a page; the filter and the other pages have the rest.
const onePage = 100

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": relative, "clock": clockTime, "mark": mark, "rowid": rowID,
	"acts": func(j *job, c *content) acts { return acts{j, c.Back} },
}).ParseFS(assets, "assets/*.html"))

// acts is what the forms of a job are made of.
type acts struct {
	Job  *job
	Back string // where they lead back to
}

// query is what of all that is known a page shows.
type query struct {
	Name   string // of the one job; empty: all
	Filter string // in the name, the spec or the zone
	Only   string // trouble, paused, running
	Page   int    // from 1
}

func queryOf(values url.Values) query {
	q := query{Name: values.Get("name"), Filter: strings.TrimSpace(values.Get("q")), Only: values.Get("only")}
	q.Page, _ = strconv.Atoi(values.Get("page")) // what is none is the first
	q.Page = max(q.Page, 1)
	return q
}

// String is the query of a link.
func (q query) String() string {
	values := url.Values{}
	for key, value := range map[string]string{"name": q.Name, "q": q.Filter, "only": q.Only} {
		if value != "" {
			values.Set(key, value)
		}
	}
	if q.Page > 1 {
		values.Set("page", strconv.Itoa(q.Page))
	}
	return "?" + values.Encode()
}

// With is the query with another choice, from its first page on.
func (q query) With(only string) query { return query{Filter: q.Filter, Only: only} }

// Turn is the query of another page.
func (q query) Turn(by int) query {
	q.Page += by
	return q
}

func (q query) matches(j *job) bool {
	switch q.Only {
	case "trouble":
		if !j.Trouble() {
			return false
		}
	case "paused":
		if !j.Paused {
			return false
		}
	case "running":
		if !j.Running {
			return false
		}
	}
	needle := strings.ToLower(q.Filter)
	return strings.Contains(strings.ToLower(j.Name+"\n"+j.Spec+"\n"+j.Zone), needle)
}

// content is what a template is given.
type content struct {
	*view
	Query    query
	Matching int // jobs
	Pages    int
	Listed   []*job
	Troubled int
	Timeline timeline
	Actions  bool
	Back     string    // where an action leads back to
	until    time.Time // while it is fresh

	// Of the page of one job.
	One     *job
	Records []record
	Coming  []time.Time
}

// newContent chooses the jobs that the query asks for.
func newContent(v *view, q query, actions bool) *content {
	c := &content{view: v, Query: q, Actions: actions}
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
	c.Timeline = newTimeline(v)
	c.Back = c.Query.String()
	return c
}

// newJobContent is of the one job that the query names, which is there.
func newJobContent(v *view, q query, h history, actions bool) *content {
	v.Problems = slices.Concat(v.Problems, h.stale("the ticks of this job", v.Now)) // others share those of v
	c := &content{view: v, Query: q, Actions: actions, One: v.find(q.Name), Records: []record{}}
	for i := range h.value {
		c.Records = append(c.Records, recordOf(&h.value[i], c.Now))
	}
	c.Timeline = newTimeline(v)
	c.Timeline.addRuns(h.value, v.Now)
	if c.One.Next != nil {
		c.Coming, _ = scheduler.Preview("CRON_TZ="+c.One.Zone+" "+c.One.Spec, nil, c.One.Next.Add(-time.Second), 5) // none: it says why
	}
	c.Back = "job" + c.Query.String()
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
	case scheduler.StateLost:
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
