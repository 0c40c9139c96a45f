package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/scheduler"
)

const maxBody = 4 << 10 // bytes of an action's form

// action is what a person can have done to a job.
type action struct {
	name string
	do   func(s *scheduler.Scheduler, ctx context.Context, job string) error
}

var errOtherSite = errors.New("cross-origin request: it did not come from this page")

var actions = []action{
	{"pause", (*scheduler.Scheduler).Pause},
	{"resume", (*scheduler.Scheduler).Resume},
	{"trigger", (*scheduler.Scheduler).Trigger},
}

// act answers a form that asks for an action, and logs what came of it.
func (p *page) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		parsed := r.ParseForm()
		job, back := r.PostForm.Get("job"), r.PostForm.Get("back")
		status, err := p.try(a, r, parsed, job)
		log := p.audit(r, a.name, job)
		if err != nil {
			log.Warn("dashboard: an action was refused, or failed", zap.Error(err))
			http.Error(w, err.Error(), status)
			return
		}
		log.Info("dashboard: an action was taken")
		p.known.Expire()
		p.histories.expire(job)
		if !strings.HasPrefix(back, "?") && !strings.HasPrefix(back, "job?") {
			back = ""
		}
		w.Header().Set("Location", "./"+back)
		w.WriteHeader(http.StatusSeeOther)
	}
}

// audit is a logger that says who asked for what.
func (p *page) audit(r *http.Request, action, job string) *zap.Logger {
	user, _, _ := r.BasicAuth()
	return p.log.With(
		zap.String("action", action), zap.String("job", job), zap.String("from", r.RemoteAddr), zap.String("user", user))
}

// refuseOthers answers what a page of another site has a browser send. Its form is not read.
func (p *page) refuseOthers(w http.ResponseWriter, r *http.Request) {
	p.audit(r, strings.TrimPrefix(r.URL.Path, "/"), "").Warn("dashboard: an action was refused, or failed",
		zap.Error(errOtherSite), zap.String("origin", r.Header.Get("Origin")))
	http.Error(w, errOtherSite.Error(), http.StatusForbidden)
}

// try does it, or says why not.
func (p *page) try(a action, r *http.Request, parsed error, job string) (status int, err error) {
	if p.authorize == nil {
		return http.StatusForbidden, errors.New("this page is for reading only")
	}
	if _, large := errors.AsType[*http.MaxBytesError](parsed); large {
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the form has more than %d bytes", maxBody)
	}
	if parsed != nil {
		return http.StatusBadRequest, parsed
	}
	if err := p.authorize(r); err != nil {
		return http.StatusForbidden, err
	}
	switch err := a.do(p.scheduler, r.Context(), job); {
	case errors.Is(err, scheduler.ErrUnknownJob), errors.Is(err, scheduler.ErrName):
		return http.StatusNotFound, err
	case err != nil:
		return http.StatusServiceUnavailable, err
	}
	return http.StatusOK, nil
}
