package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/fresh"
	"github.com/redlockfx/redlockfx/scheduler"
)

// page serves everything.
type page struct {
	elector   *election.Elector
	scheduler *scheduler.Scheduler
	known     *fresh.Value[*view]
	histories *histories
	authorize func(*http.Request) error // nil: nobody may act
	log       *zap.Logger
	open      context.Context // done when streams must end
}

// Handler is the page of an election and its jobs. It works under any prefix that ends with a slash, with
// [http.StripPrefix]. elector and scheduler must not be nil: like [http.Handle] it panics where there is nothing to
// serve.
func Handler(elector *election.Elector, scheduler *scheduler.Scheduler, opts ...Option) http.Handler {
	if elector == nil || scheduler == nil {
		panic("dashboard: the elector or the scheduler is nil")
	}
	nodes := &reader{elector, scheduler}
	p := &page{
		elector: elector, scheduler: scheduler,
		known:     &fresh.Value[*view]{For: every, Read: nodes.read},
		histories: &histories{read: nodes.history, jobs: make(map[string]*requested)},
		log:       zap.NewNop(), open: context.Background(),
	}
	for _, opt := range opts {
		opt(p)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.serve("page"))
	mux.HandleFunc("GET /job", p.serve("page"))
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
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(p.refuseOthers))
	return guard(own.Handler(mux))
}

// guard sets what browsers must keep to, and finds the page where its slash is missing.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for key, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
				"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Frame-Options":        "DENY",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "same-origin", // an action's Origin would be null with none
			"Cache-Control":          "no-store",
		} {
			w.Header().Set(key, value)
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

// content is what a request asks for. Where it cannot be had, that is answered, and it is nil.
func (p *page) content(w http.ResponseWriter, r *http.Request) *content {
	q := queryOf(r.URL.Query())
	if r.URL.Path == "/" {
		q.Name = ""
	} else if r.URL.Path == "/job" && q.Name == "" {
		http.Error(w, "which job? job?name=NAME", http.StatusNotFound)
		return nil
	}
	v, until, err := p.known.Get(r.Context())
	if err != nil {
		return nil // who asked has gone
	}
	if q.Name == "" {
		c := newContent(v.present(p.elector), q, p.authorize != nil)
		c.until = until
		return c
	}

	if jobs := v.of.jobs; v.find(q.Name) == nil && jobs.at.IsZero() {
		http.Error(w, fmt.Sprintf("job %q is not known: %v", q.Name, jobs.err), http.StatusServiceUnavailable)
		return nil
	} else if v.find(q.Name) == nil {
		http.Error(w, fmt.Sprintf("no leader has ever had a job %q", q.Name), http.StatusNotFound)
		return nil
	}
	h, read, err := p.histories.get(r.Context(), q.Name)
	if err != nil {
		return nil // who asked has gone
	}
	c := newJobContent(v.present(p.elector), q, h, p.authorize != nil)
	c.until = later(until, read) // then both are read again
	return c
}

func (p *page) serve(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := p.content(w, r)
		if c == nil {
			return
		}
		body, err := c.render(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body) // whoever asked is gone
	}
}

// api is the same as JSON: everything but the records of jobs, or one job with all of its records that are kept.
func (p *page) api(w http.ResponseWriter, r *http.Request) {
	c := p.content(w, r)
	if c == nil {
		return
	}
	var answer any = c.view
	if c.One != nil {
		answer = struct {
			*job
			Problems []problem `json:"problems"`
			Records  []record  `json:"records"`
		}{c.One, c.Problems, c.Records}
	}
	body, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // whoever asked is gone
}
