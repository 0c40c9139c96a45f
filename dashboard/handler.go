package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/fresh"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// page serves the page, its events and its JSON.
type page struct {
	elector   *election.Elector
	scheduler *scheduler.Scheduler
	known     *fresh.Value[*view]
	histories *histories
	streams   streams
	authorize func(*http.Request) (string, error) // nil: nobody may act
	hosts     []string                            // none: any
	links     []jobLink
	log       *zap.Logger
	open      context.Context // done when streams must end
}

// Handler returns a handler for the page of an election and its jobs. It works under any prefix that ends with a
// slash, with [http.StripPrefix]. It panics if elector or scheduler is nil.
//
// # JSON
//
// The path api returns the same data as JSON. api?name=NAME returns one job, with problems[], and with all of its
// records[] and changes[] that the nodes keep. The fields:
//
//	(itself)    election now problems[] leader replica nodes[] jobs[] runs[] terms[] leaderless[] replicas[]
//	leader      id value term since lease_ms expired
//	replica     id state since stop_ms check[]
//	nodes       addr version latency_ms guard_ms clock_offset_ms list error denied
//	jobs        name spec zone next paused pause running last last_ok last_ok_ms failures missed why why_tick waits own long lost words
//	runs        job tick state replica term attempt manual rerun caught_up start end lag_ms took_ms error ticks from
//	terms       term replica since until ended
//	leaderless  from to sure
//	replicas    id here state seen
//	changes     what by reason replica at until tick
//
// Times are in UTC, by the nodes' clock. Fields that end in _ms are milliseconds with up to three decimals. Empty
// fields may be missing, and so are those that are not known. redlockctl -o json has the same names and units.
//
// leader is null if nobody leads or no leader is known. If a part could not be read, problems says so, and how old its
// value is. If the leader's lease has run out since the nodes were read, expired is true: as far as is known, it no
// longer leads. terms is empty if the election does not record them: see package termlog. leaderless has the times
// between the terms without a known leader. If sure is false, the previous leader was killed or cut off, and may have
// led up to [termlog.Every] longer than from says. replica is the one that answers the request, and check has its
// [election.Elector.Problems]. replicas are that one, the leader, and those that led one of the terms or ran one of the
// last runs that the nodes keep: 50 at most.
//
// runs has the last run of each job, 20 at most, the newest first. last, and the records of one job, have the fields of
// runs. Their states are those of [scheduler.State] and one more. That is unknown, for a run without an end whose
// leader is not known to lead any more. A record may stand for several ticks that did not run: ticks is their number,
// from the first of them, tick the last. pause has the fields of changes. last_ok is the start of the last good run,
// last_ok_ms how long it took. usual_ms, only of one job, is the median of the good runs in its records. A job whose
// state cannot be read is listed with why and no why_tick. long says why a run under way takes too long: the job's
// Timeout has passed, its next tick has come, or it takes more than ten times as long as the last good run. Fields may
// be added; existing ones stay.
//
// # What it costs
//
// A binary grows by about 12 MB: html/template calls methods by name, so the linker keeps the exported methods of all types. In
// a program that uses html/template or text/template anyway, it is 1 MB.
//
// While any page is open, a replica reads the nodes once every five seconds, however many pages are open. While none
// is open, it does not read them. A hidden tab sends no requests. A read makes five calls to each node, one more per
// 500 jobs, and three more for each job whose page is open. After an action the nodes are read at once. Without
// JavaScript the page reloads itself every five seconds.
//
// A replica streams updates to at most 100 pages at once, and renders pages with the same content only once. It
// refuses further streams with 503; their pages reload their content every ten seconds. It answers a request with 400
// if a parameter is too long or has an invalid value.
//
// If too few nodes answer, the page shows the last known state with its age, and says so.
func Handler(elector *election.Elector, scheduler *scheduler.Scheduler, opts ...Option) http.Handler {
	if elector == nil || scheduler == nil {
		panic("dashboard: the elector or the scheduler is nil")
	}
	nodes := &reader{elector, scheduler}
	p := &page{
		elector: elector, scheduler: scheduler,
		known:     &fresh.Value[*view]{For: every, Read: nodes.read},
		histories: &histories{read: nodes.history, jobs: make(map[string]*requested)},
		streams:   streams{all: make(map[seen]*shared)},
		log:       zap.NewNop(), open: context.Background(),
	}
	for _, opt := range opts {
		opt(p)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.serve)
	mux.HandleFunc("GET /job", p.serve)
	mux.HandleFunc("GET /events", p.events)
	mux.HandleFunc("GET /api", p.api)
	for _, name := range []string{"style.css", "live.js"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, assets, "assets/"+name)
		})
	}
	for _, action := range actions {
		mux.HandleFunc("POST /"+action.name, p.act(action))
	}
	return p.guard(p.ownOrigin(mux))
}

// guard sets the security headers. It refuses requests that are too long or for another host, and redirects if the
// slash after the prefix is missing.
func (p *page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for key, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
				"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Frame-Options":        "DENY",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "same-origin", // with no-referrer, the Origin of an action would be null
			"Cache-Control":          "no-store",
		} {
			w.Header().Set(key, value)
		}
		if !p.isFor(r.Host) {
			why := fmt.Sprintf("this page is not served at the host %.100q, which dashboard.Hosts does not list", r.Host)
			http.Error(w, why, http.StatusMisdirectedRequest)
			return
		}
		if n := len(r.URL.RawQuery); n > maxRawQuery {
			refuse(w, bad("the query has %d bytes, it may have %d", n, maxRawQuery))
			return
		}
		if r.URL.Path == "" {
			asked, _, _ := strings.Cut(r.RequestURI, "?")
			w.Header().Set("Location", "./"+path.Base(asked)+"/")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isFor reports whether the page is served at this Host.
func (p *page) isFor(host string) bool {
	if len(p.hosts) == 0 {
		return true
	}
	bare, _, err := net.SplitHostPort(host)
	if err != nil {
		bare = strings.Trim(host, "[]") // it has no port
	}
	return slices.ContainsFunc(p.hosts, func(served string) bool {
		return strings.EqualFold(served, host) || strings.EqualFold(served, bare)
	})
}

// known is what the nodes know about a query.
type known struct {
	view    *view
	history history   // of the job that the query names
	until   time.Time // it is fresh until then
}

// read returns what the nodes know about q. An error is a refusal, or says why ctx has ended.
func (p *page) read(ctx context.Context, q query) (known, error) {
	v, until, err := p.known.Get(ctx)
	if err != nil || q.Name == "" {
		return known{view: v, until: until}, err
	}
	if jobs := v.of.jobs; v.find(q.Name) == nil && jobs.at.IsZero() {
		return known{}, &refusal{http.StatusServiceUnavailable,
			fmt.Sprintf("job %q is not known: %s", q.Name, firstLine(jobs.err.Error()))}
	} else if v.find(q.Name) == nil {
		return known{}, &refusal{http.StatusNotFound, fmt.Sprintf("no leader has ever had a job %q", q.Name)}
	}
	h, read, err := p.histories.get(ctx, q.Name)
	return known{v, h, later(until, read)}, err // then both are read again
}

// content selects what the page shows.
func (p *page) content(in known, what seen) (*content, error) {
	v := in.view.present(p.elector)
	var c *content
	if what.Name != "" {
		c = newJobContent(v, what.query, in.history, what.actions)
	} else if c = newContent(v, what.query, what.actions); what.Page > c.Pages {
		return nil, bad("page is %d, but the last page is %d", what.Page, c.Pages)
	}
	c.links = p.links
	return c, nil
}

// ask returns the content for a request.
func (p *page) ask(r *http.Request, actions bool) (*content, error) {
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	in, err := p.read(r.Context(), q)
	if err != nil {
		return nil, err
	}
	return p.content(in, seen{q, actions})
}

// refuse answers a request with an error. If the client is gone, it answers nothing.
func refuse(w http.ResponseWriter, err error) {
	if why, is := errors.AsType[*refusal](err); is {
		http.Error(w, why.text, why.status)
	}
}

func (p *page) serve(w http.ResponseWriter, r *http.Request) {
	c, err := p.ask(r, p.mayAct(r))
	if err != nil {
		refuse(w, err)
		return
	}
	body, err := c.render("page")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body) // an error means that the client is gone
}

// api answers with JSON: everything but the records of jobs, or one job with all of its records.
func (p *page) api(w http.ResponseWriter, r *http.Request) {
	c, err := p.ask(r, false)
	if err != nil {
		refuse(w, err)
		return
	}
	var answer any = c.view
	if c.One != nil {
		answer = struct {
			*job
			Usual    *ops.Duration `json:"usual_ms,omitempty"`
			Problems []problem     `json:"problems"`
			Records  []ops.Record  `json:"records"`
			Changes  []ops.Change  `json:"changes"`
		}{c.One, c.Usual, c.Problems, c.Records, c.Changes}
	}
	body, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // an error means that the client is gone
}
