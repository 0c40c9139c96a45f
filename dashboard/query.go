package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/ops"
)

// A page repeats its query in links and forms, so its size depends on these limits.
const (
	maxRawQuery = 2 << 10 // bytes of a whole query, escaped; more than the longest name and filter need
	maxFilter   = 200     // bytes of q
)

// query selects what a page shows.
type query struct {
	Name   string // of one job; empty: all jobs
	Filter string // a part of the name, the spec or the zone
	Only   string // one of ops.Choices
	Period string // of the timeline: the name of one of periods; empty: as the page chooses
	Page   int    // from 1
}

// queryOf parses the query of a request. Its error names the parameter and the rule.
func queryOf(r *http.Request) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, bad("cannot parse the query: %.100v", err)
	}
	q := query{
		Name: values.Get("name"), Filter: strings.TrimSpace(values.Get("q")), Only: values.Get("only"),
		Period: values.Get("period"), Page: 1,
	}
	if q.Name != "" {
		if err := name.Check("name", q.Name); err != nil {
			return query{}, bad("%v", err)
		}
	}
	if len(q.Filter) > maxFilter {
		return query{}, bad("q has %d bytes, at most %d are allowed", len(q.Filter), maxFilter)
	}
	if !slices.Contains(ops.Choices, q.Only) {
		return query{}, bad("only is %.20q, it must be trouble, failed, paused or running", q.Only)
	}
	if q.Period != "" && q.period(period{}).Name == "" {
		return query{}, bad("period is %.20q, it must be hour, day or week", q.Period)
	}
	if page := values.Get("page"); page != "" {
		if q.Page, err = strconv.Atoi(page); err != nil || q.Page < 1 {
			return query{}, bad("page is %.20q, it must be a number from 1", page)
		}
	}
	switch {
	case r.URL.Path == "/":
		q.Name = ""
	case r.URL.Path == "/job" && q.Name == "":
		return query{}, &refusal{http.StatusNotFound, "no job is named: use job?name=NAME"}
	}
	return q, nil
}

// String returns the query for a link.
func (q query) String() string {
	values := url.Values{}
	for key, value := range map[string]string{"name": q.Name, "q": q.Filter, "only": q.Only, "period": q.Period} {
		if value != "" {
			values.Set(key, value)
		}
	}
	if q.Page > 1 {
		values.Set("page", strconv.Itoa(q.Page))
	}
	return "?" + values.Encode()
}

// With returns the first page of the query with another choice.
func (q query) With(only string) query {
	q.Only, q.Page = only, 1
	return q
}

// In returns the query with another period.
func (q query) In(period string) query {
	q.Period = period
	return q
}

// period returns the period that the query names, or other if it names none.
func (q query) period(other period) period {
	if i := slices.IndexFunc(periods, func(p period) bool { return p.Name == q.Period }); i >= 0 {
		return periods[i]
	}
	return other
}

// Turn returns the query of the page that is by pages further.
func (q query) Turn(by int) query {
	q.Page += by
	return q
}

// Back returns the value with which an action's form names the page to return to; see [backTo].
func (q query) Back() string {
	if q.Name != "" {
		return "job"
	}
	return q.Only
}

// backTo returns the address for a value of Back. For any other text it returns the list of all jobs.
func backTo(back, job string) string {
	switch {
	case back == "job":
		return "./job" + query{Name: job}.String()
	case back != "" && slices.Contains(ops.Choices, back):
		return "./" + query{Only: back}.String()
	default:
		return "./"
	}
}

// refusal is an error that is answered with a status and a text instead of a page.
type refusal struct {
	status int
	text   string // for the user
}

func (e *refusal) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}
