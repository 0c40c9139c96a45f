package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redlockfx/redlockfx/internal/name"
)

// A page repeats its query in links and forms, so its size depends on these limits.
const (
	maxRawQuery = 2 << 10 // bytes of a whole query, escaped; more than the longest name and filter need
	maxFilter   = 200     // bytes of q
)

// choices are what only may be. The empty one is all jobs.
var choices = []string{"", "trouble", "failed", "paused", "running"}

// query is what of all that is known a page shows.
type query struct {
	Name   string // of the one job; empty: all
	Filter string // in the name, the spec or the zone
	Only   string // one of choices
	Page   int    // from 1
}

// queryOf returns what a request asks for. Its refusal names the parameter and the rule.
func queryOf(r *http.Request) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, bad("the query cannot be read: %.100v", err)
	}
	q := query{Name: values.Get("name"), Filter: strings.TrimSpace(values.Get("q")), Only: values.Get("only"), Page: 1}
	if q.Name != "" {
		if err := name.Check("name", q.Name); err != nil {
			return query{}, bad("%v", err)
		}
	}
	if len(q.Filter) > maxFilter {
		return query{}, bad("q has %d bytes, it may have %d", len(q.Filter), maxFilter)
	}
	if !slices.Contains(choices, q.Only) {
		return query{}, bad("only is %.20q, it must be trouble, failed, paused or running", q.Only)
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
		return query{}, &refusal{http.StatusNotFound, "which job? job?name=NAME"}
	}
	return q, nil
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
func (q query) With(only string) query { return query{Name: q.Name, Filter: q.Filter, Only: only} }

// Turn is the query of another page.
func (q query) Turn(by int) query {
	q.Page += by
	return q
}

// Back is the word by which an action's form says where it leads back to; see [backTo].
func (q query) Back() string {
	if q.Name != "" {
		return "job"
	}
	return q.Only
}

// backTo returns the address of a Back, of the list of all jobs for any other text.
func backTo(back, job string) string {
	switch {
	case back == "job":
		return "./job" + query{Name: job}.String()
	case back != "" && slices.Contains(choices, back):
		return "./" + query{Only: back}.String()
	default:
		return "./"
	}
}

func (q query) matches(j *job) bool {
	switch q.Only {
	case "trouble":
		if !j.Trouble() {
			return false
		}
	case "failed":
		if j.Failures == 0 && (j.Last == nil || !j.Last.failed()) {
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

// refusal is an answer without a page.
type refusal struct {
	status int
	text   string // what the person reads
}

func (e *refusal) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}
