package dashboard_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/dashboard"
)

func anybody(*http.Request) (string, error) { return "ann", nil }

func TestActions_PauseResumeAndTrigger(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	serve(t, func(t *testing.T, s *service) {
		good := func() (paused bool, runs int) { return s.api().Jobs[2].Paused, len(s.job("good").Records) }
		_, before := good()
		if w := s.post("pause", "good"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./?only=paused" {
			t.Errorf("%d to %q: %s", w.Code, w.Header().Get("Location"), w.Body)
		}
		if paused, _ := good(); !paused { // at once, although the nodes were read a moment ago
			t.Error("it is not paused")
		}
		if w := s.post("trigger", "good"); w.Code != http.StatusSeeOther {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		time.Sleep(time.Second)
		if _, runs := good(); runs != before+1 {
			t.Errorf("%d runs after %d", runs, before)
		}
		if w := s.post("resume", "good"); w.Code != http.StatusSeeOther {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if paused, _ := good(); paused {
			t.Error("it is still paused")
		}
		audit := logs.FilterMessage("dashboard: an action was taken").All()
		if len(audit) != 3 || audit[2].ContextMap()["action"] != "resume" || audit[2].ContextMap()["job"] != "good" ||
			audit[2].ContextMap()["by"] != "ann" || audit[2].ContextMap()["from"] == "" {
			t.Errorf("audit lines %v", audit)
		}
	}, dashboard.AllowActions(anybody), dashboard.WithLogger(zap.New(core)))
}

func TestActions_AreRefused(t *testing.T) {
	allow := dashboard.AllowActions(anybody)
	for name, c := range map[string]struct {
		option dashboard.Option
		job    string
		change func(*http.Request)
		status int
		text   string
	}{
		"read-only": {dashboard.WithLogger(nil), "good", func(*http.Request) {}, http.StatusForbidden, "read-only"},
		"unauthorised": {dashboard.AllowActions(func(*http.Request) (string, error) { return "", errors.New("ask <Bob>") }), "good",
			func(*http.Request) {}, http.StatusForbidden, "ask <Bob>"},
		"nobody": {dashboard.AllowActions(func(*http.Request) (string, error) { return "", nil }), "good",
			func(*http.Request) {}, http.StatusForbidden, "the name of who is acting is empty"},
		"unknown job": {allow, "unknown", func(*http.Request) {}, http.StatusNotFound, `"unknown"`},
		"no job":      {allow, "", func(*http.Request) {}, http.StatusNotFound, "name"},
		"another site": {allow, "good", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			http.StatusForbidden, "cross-origin"},
		"another site, old browser": {allow, "good", func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "https://evil.example")
		}, http.StatusForbidden, "cross-origin"},
		"too large": {allow, "good" + strings.Repeat(" ", 5000), func(*http.Request) {}, http.StatusRequestEntityTooLarge, "4096 bytes"},
		"malformed": {allow, "good", func(r *http.Request) { r.Header.Set("Content-Type", "a/b/c; =") },
			http.StatusBadRequest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			core, logs := observer.New(zapcore.InfoLevel)
			serve(t, func(t *testing.T, s *service) {
				w := s.post("pause", c.job, c.change)
				if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
					t.Errorf("%d: %s", w.Code, w.Body)
				}
				if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Errorf("the text is %s", w.Header().Get("Content-Type"))
				}
				for _, j := range s.api().Jobs {
					if j.Paused {
						t.Errorf("%s is paused all the same", j.Name)
					}
				}
				if name != "read-only" && logs.FilterField(zap.String("action", "pause")).Len() != 1 {
					t.Errorf("audit lines %v", logs.All())
				}
			}, dashboard.WithLogger(zap.New(core)), c.option)
		})
	}
}

// The answer says that the outcome of the action is not known.
func TestActions_WithoutAQuorum(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.follower.Cut(0, 1)
		if w := s.post("pause", "good"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "quorum") {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	}, dashboard.AllowActions(anybody))
}

// The form names the page to return to; it must not lead to another site.
func TestActions_LeadBackToThePage(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		for back, want := range map[string]string{
			"paused": "./?only=paused", "trouble": "./?only=trouble", "job": "./job?name=a%2Fb%3Fc%3Dd%26e", "": "./", "all": "./",
			"?page=2": "./", "//evil.example": "./", "https://evil.example": "./",
		} {
			w := s.post("resume", "a/b?c=d&e", func(r *http.Request) {
				r.Body = http.NoBody
				r.PostForm = map[string][]string{"job": {"a/b?c=d&e"}, "back": {back}}
				r.Form = r.PostForm
			})
			if got := w.Header().Get("Location"); got != want {
				t.Errorf("back to %q leads to %q", back, got)
			}
		}
	}, dashboard.AllowActions(anybody))
}
