package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/scheduler"
)

const maxBody = 4 << 10 // limit of an action's form, in bytes

// action is something that a user can do.
type action struct {
	name string
	do   func(ctx context.Context, s *scheduler.Scheduler, form url.Values, by scheduler.ChangeOption) error
}

var actions = []action{
	{"pause", onJob((*scheduler.Scheduler).Pause)},
	{"resume", onJob((*scheduler.Scheduler).Resume)},
	{"trigger", onJob((*scheduler.Scheduler).Trigger)},
	{"cancel", onJob((*scheduler.Scheduler).Cancel)},
	{"rerun", rerun},
	{"pauseall", onAll((*scheduler.Scheduler).PauseAll)},
	{"resumeall", onAll((*scheduler.Scheduler).ResumeAll)},
}

func onJob(
	do func(*scheduler.Scheduler, context.Context, string, ...scheduler.ChangeOption) error,
) func(context.Context, *scheduler.Scheduler, url.Values, scheduler.ChangeOption) error {
	return func(ctx context.Context, s *scheduler.Scheduler, form url.Values, by scheduler.ChangeOption) error {
		return do(s, ctx, form.Get("job"), by)
	}
}

func onAll(
	do func(*scheduler.Scheduler, context.Context, ...scheduler.ChangeOption) error,
) func(context.Context, *scheduler.Scheduler, url.Values, scheduler.ChangeOption) error {
	return func(ctx context.Context, s *scheduler.Scheduler, _ url.Values, by scheduler.ChangeOption) error {
		return do(s, ctx, by)
	}
}

// rerun runs a tick again, which the form has in milliseconds since 1970.
func rerun(ctx context.Context, s *scheduler.Scheduler, form url.Values, by scheduler.ChangeOption) error {
	ms, err := strconv.ParseInt(form.Get("tick"), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %w", scheduler.ErrNotTick, err)
	}
	return s.Rerun(ctx, form.Get("job"), time.UnixMilli(ms), by)
}

var errReadOnly = errors.New("this page is read-only")

// actor returns the user who sends a request, or an error that says why they may not act.
func (p *page) actor(r *http.Request) (who string, err error) {
	if p.authorize == nil {
		return "", errReadOnly
	}
	if who, err = p.authorize(r); err != nil {
		return "", err
	}
	if err := name.CheckText("the name of who is acting", who); err != nil {
		return "", err
	}
	return who, nil
}

// mayAct reports whether the page for this request has buttons.
func (p *page) mayAct(r *http.Request) bool {
	_, err := p.actor(r)
	return err == nil
}

// act answers the form of an action, and logs the outcome.
func (p *page) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		parsed := r.ParseForm()
		job := r.PostForm.Get("job")
		who, status, err := p.try(a, r, parsed)
		log := p.audit(r, a.name, job, who)
		if err != nil {
			log.Warn("dashboard: an action was refused, or failed", zap.Error(err))
			p.refuseAction(w, r, status, err, backTo(r.PostForm.Get("back"), job))
			return
		}
		log.Info("dashboard: an action was taken")
		p.known.Expire()
		p.histories.expire(job)
		w.Header().Set("Location", backTo(r.PostForm.Get("back"), job))
		w.WriteHeader(http.StatusSeeOther)
	}
}

// refuseAction answers a browser with a page that links back, and a program with the text of the error.
func (p *page) refuseAction(w http.ResponseWriter, r *http.Request, status int, why error, back string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, why.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	data := map[string]string{"Why": why.Error(), "Back": back}
	_ = templates.ExecuteTemplate(w, "refused", data) // an error means that the client is gone
}

// audit returns a logger with the fields of an action. by is its user, and empty unless that user is verified: a name
// that the request merely claims is no identity.
func (p *page) audit(r *http.Request, action, job, by string) *zap.Logger {
	return p.log.With(zap.String("action", action), zap.String("job", firstLine(job)), zap.String("from", r.RemoteAddr),
		zap.String("by", by))
}

// try does the action, or returns why it was not done. who is empty unless the user may act.
func (p *page) try(a action, r *http.Request, parsed error) (who string, status int, err error) {
	if p.authorize == nil {
		return "", http.StatusForbidden, errReadOnly
	}
	if _, large := errors.AsType[*http.MaxBytesError](parsed); large {
		return "", http.StatusRequestEntityTooLarge, fmt.Errorf("the form has more than %d bytes", maxBody)
	}
	if parsed != nil {
		return "", http.StatusBadRequest, parsed
	}
	if who, err = p.actor(r); err != nil {
		return "", http.StatusForbidden, err
	}
	switch err := a.do(r.Context(), p.scheduler, r.PostForm, scheduler.By(who)); {
	case errors.Is(err, scheduler.ErrUnknownJob), errors.Is(err, scheduler.ErrName):
		return who, http.StatusNotFound, err
	case errors.Is(err, scheduler.ErrNotRunning), errors.Is(err, scheduler.ErrNotTick),
		errors.Is(err, scheduler.ErrNotSettled):
		return who, http.StatusConflict, err
	case err != nil:
		return who, http.StatusServiceUnavailable, err
	}
	return who, http.StatusOK, nil
}
