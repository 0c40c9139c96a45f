package dashboard_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func anybody(*http.Request) (string, error) { return "ann", nil }

// bySession is the authorize function of a service with sessions. A user with a session may act while on call.
func bySession(r *http.Request) (string, error) {
	session, err := r.Cookie("session")
	if err != nil {
		return "", errors.New("sign in")
	}
	if session.Value != "ann" && session.Value != "mallory" {
		return "", errors.New("only who is on call may")
	}
	return session.Value, nil
}

func signedIn(who string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "session", Value: who}) }
}

// The page shows an action at once, although the nodes were read a moment before. The name that a request claims is no
// identity: anybody can write a user's name in a header.
func TestActions_TakeEffectAtOnceInTheNameOfAVerifiedIdentity(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	serve(t, func(t *testing.T, s *service) {
		claim := func(r *http.Request) { r.SetBasicAuth("alice", "whatever") }
		act := func(action, who string) {
			t.Helper()
			w := s.post(action, "good", signedIn(who), claim)
			if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./?only=paused" {
				t.Fatalf("%d to %q: %s", w.Code, w.Header().Get("Location"), w.Body)
			}
		}
		paused := func() bool { return s.api().Jobs[2].Paused }
		before := len(s.job("good").Records)
		act("pause", "mallory")
		if !paused() {
			t.Error("it is not paused")
		}
		time.Sleep(time.Second) // so that the changes have an order
		act("trigger", "ann")
		time.Sleep(time.Second)
		if runs := len(s.job("good").Records); runs != before+1 {
			t.Errorf("%d runs after %d", runs, before)
		}
		act("resume", "ann")
		if paused() {
			t.Error("it is still paused")
		}
		if w := s.post("pause", "good", claim); w.Code != http.StatusForbidden {
			t.Errorf("nobody: %d: %s", w.Code, w.Body)
		}
		var audit []string
		for _, line := range logs.All() {
			fields := line.ContextMap()
			audit = append(audit, fields["action"].(string)+" by "+fields["by"].(string))
			if fields["job"] != "good" || fields["from"] == "" || strings.Contains(fmt.Sprint(fields), "alice") {
				t.Errorf("the log has %v", fields)
			}
		}
		if got := strings.Join(audit, ", "); got != "pause by mallory, trigger by ann, resume by ann, pause by " {
			t.Errorf("the log has %q", got)
		}

		changes := s.job("good").Changes
		if len(changes) != 3 || changes[0].What != "resume" || changes[0].By != "ann" || changes[2].What != "pause" ||
			changes[2].By != "mallory" || changes[2].Replica != s.follower.Elector.Identity() ||
			time.Since(changes[2].At) > time.Minute {
			t.Errorf("the job's changes are %+v", changes)
		}
		page := s.get("/job?name=good").Body.String()
		want.Parts(t, "the job's page", page, "What people did", ">mallory<", ">ann<")
		lacks(t, "the job's page", page, "alice")
		if changes := s.job("long").Changes; changes == nil || len(changes) > 0 {
			t.Errorf("another job's changes are %+v, want an empty list", changes)
		}
	}, dashboard.AllowActions(bySession), dashboard.WithLogger(zap.New(core)))
}

func TestActions_AreRefused(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		allow := dashboard.AllowActions(anybody)
		for name, c := range map[string]struct {
			option dashboard.Option
			job    string
			change func(*http.Request)
			status int
			text   string
		}{
			"read-only": {dashboard.WithLogger(nil), "good", func(*http.Request) {}, http.StatusForbidden, "read-only"},
			"unauthorized": {
				dashboard.AllowActions(func(*http.Request) (string, error) { return "", errors.New("ask <Bob>") }), "good",
				func(*http.Request) {}, http.StatusForbidden, "ask <Bob>",
			},
			"nobody": {dashboard.AllowActions(func(*http.Request) (string, error) { return "", nil }), "good",
				func(*http.Request) {}, http.StatusForbidden, "the name of who is acting is empty"},
			"unknown job": {allow, "unknown", func(*http.Request) {}, http.StatusNotFound, `"unknown"`},
			"another site": {allow, "good", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
				http.StatusForbidden, `cross-origin request: it has Origin "" and Host "example.com", and the browser says that it is "cross-site"`},
			"too large": {allow, "good" + strings.Repeat(" ", 5000), func(*http.Request) {},
				http.StatusRequestEntityTooLarge, "4096 bytes"},
			"malformed": {allow, "good", func(r *http.Request) { r.Header.Set("Content-Type", "a/b/c; =") },
				http.StatusBadRequest, ""},
		} {
			core, logs := observer.New(zapcore.InfoLevel)
			s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, dashboard.WithLogger(zap.New(core)),
				c.option)
			w := s.post("pause", c.job, c.change)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
				t.Errorf("%s: %d: %s", name, w.Code, w.Body)
			}
			if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s: the text is %s", name, w.Header().Get("Content-Type"))
			}
			for _, j := range s.api().Jobs {
				if j.Paused {
					t.Errorf("%s: %s is paused all the same", name, j.Name)
				}
			}
			if name != "read-only" && logs.FilterField(zap.String("action", "pause")).Len() != 1 {
				t.Errorf("%s: audit lines %v", name, logs.All())
			}
		}
		// A browser gets a page that links back, and a program the text of the error.
		s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, dashboard.AllowActions(bySession))
		w := s.post("pause", "<good>", func(r *http.Request) { r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8") },
			signedIn("<eve>"))
		want.Parts(t, "the answer", w.Body.String(), "only who is on call may", `<a href="./?only=paused">Back`)
		if w.Code != http.StatusForbidden || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%d, %v", w.Code, w.Header())
		}
		lacks(t, "the answer", w.Body.String(), "<good>", "<eve>")
		// The answer says that the outcome of the action is not known.
		s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, allow)
		s.follower.Cut(0, 1)
		if w := s.post("pause", "good"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "quorum") {
			t.Errorf("without a quorum: %d: %s", w.Code, w.Body)
		}
	})
}

// Over plain http browsers send no Sec-Fetch-Site, and nginx sends its own Host unless it is told not to.
func TestActions_BehindAProxyThatReplacesHost(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		const proxied, shown = "10.1.2.3:8080", "ops.example:8000"
		for _, c := range []struct {
			hosts        []string
			origin, site string
			status       int
		}{
			{nil, "http://" + shown, "", http.StatusForbidden},
			{[]string{proxied}, "http://" + shown, "", http.StatusForbidden},
			{[]string{proxied, "ops.example"}, "http://" + shown, "", http.StatusForbidden}, // another port is another service
			{[]string{proxied, shown}, "http://evil.example", "", http.StatusForbidden},
			{[]string{proxied, shown, ""}, "null", "", http.StatusForbidden},
			{[]string{proxied, shown}, "http://" + shown, "cross-site", http.StatusForbidden},
			{[]string{proxied, shown}, "http://" + shown, "", http.StatusSeeOther},
			{nil, "http://" + proxied, "", http.StatusSeeOther}, // the proxy passes Host on
		} {
			s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, dashboard.AllowActions(anybody), dashboard.Hosts(c.hosts...))
			w := s.post("pause", "good", func(r *http.Request) {
				r.Host = proxied
				r.Header.Set("Origin", c.origin)
				r.Header.Set("X-Forwarded-Host", shown)
				if r.Header.Del("Sec-Fetch-Site"); c.site != "" {
					r.Header.Set("Sec-Fetch-Site", c.site)
				}
			})
			if w.Code != c.status {
				t.Errorf("%+v: %d: %s", c, w.Code, w.Body)
			}
			if c.status == http.StatusForbidden {
				want.Parts(t, "the answer", w.Body.String(), strconv.Quote(c.origin), strconv.Quote(proxied))
				if has := strings.Contains(w.Body.String(), "list both hosts in dashboard.Hosts"); has == (c.site != "") {
					t.Errorf("%+v: %s", c, w.Body)
				}
			}
		}
	})
}

func TestPage_ShowsButtonsToThoseWhoMayAct(t *testing.T) {
	const button = `<form method="post"`
	serve(t, func(t *testing.T, s *service) {
		for who, may := range map[string]bool{"ann": true, "eve": false, "": false} {
			for _, path := range []string{"/", "/job?name=good"} {
				if has := strings.Contains(s.getAs(path, who).Body.String(), button); has != may {
					t.Errorf("%q sees buttons at %s: %v", who, path, has)
				}
			}
		}
		// While both listen, neither gets the events of the other.
		eve, _ := s.listenAs("/events", "eve")
		ann, _ := s.listenAs("/events", "ann")
		time.Sleep(time.Second)
		if strings.Contains(eve.first(), button) || !strings.Contains(ann.first(), button) {
			t.Error("a stream with buttons and one without are rendered together")
		}
	}, dashboard.AllowActions(bySession))
}

func TestActions_PauseAllJobs(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		if w := s.post("pauseall", "", signedIn("ann")); w.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		time.Sleep(10 * time.Second)
		page := func() string {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			signedIn("ann")(r)
			w := httptest.NewRecorder()
			s.page.ServeHTTP(w, r)
			return w.Body.String()
		}
		want.Parts(t, "the page", page(), "all jobs are paused by ann on ", `action="resumeall"`)
		lacks(t, "the page", page(), `action="pauseall"`)
		if w := s.post("resumeall", "", signedIn("ann")); w.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		time.Sleep(10 * time.Second)
		want.Parts(t, "the page", page(), `action="pauseall"`)
	}, dashboard.AllowActions(bySession))
}

func TestActions_RunATickAgain(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		before := s.job("good").Records
		tick := before[0].Tick
		form := func(tick string) *httptest.ResponseRecorder {
			return s.post("rerun", "good", signedIn("ann"), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("job=good&back=job&tick=" + tick)) })
		}
		if w := form("1"); w.Code != http.StatusConflict {
			t.Errorf("no tick: %d: %s", w.Code, w.Body)
		}
		if w := form("x"); w.Code != http.StatusConflict {
			t.Errorf("no number: %d: %s", w.Code, w.Body)
		}
		if w := form(fmt.Sprint(tick.UnixMilli())); w.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		time.Sleep(10 * time.Second)
		records := s.job("good").Records
		for _, r := range records {
			if r.Rerun && r.Tick.Equal(tick) && r.State == "ok" && r.Attempt == 2 {
				return
			}
		}
		t.Errorf("recorded %+v", records)
	}, dashboard.AllowActions(bySession))
}
