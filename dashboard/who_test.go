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
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

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

// A name that a request claims is no identity: anybody can write a user's name in a header.
func TestActions_AreOfAVerifiedIdentity(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	serve(t, func(t *testing.T, s *service) {
		claim := func(r *http.Request) { r.SetBasicAuth("alice", "whatever") }
		if w := s.post("pause", "good", signedIn("mallory"), claim); w.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		time.Sleep(time.Second)
		if w := s.post("trigger", "good", signedIn("ann")); w.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		if w := s.post("pause", "good", claim); w.Code != http.StatusForbidden {
			t.Errorf("nobody: %d: %s", w.Code, w.Body)
		}
		var by []string
		for _, line := range logs.All() {
			by = append(by, line.ContextMap()["by"].(string))
			for key, value := range line.ContextMap() {
				if text, is := value.(string); is && strings.Contains(text, "alice") {
					t.Errorf("the log has what was claimed, as %s", key)
				}
			}
		}
		if got := strings.Join(by, ","); got != "mallory,ann," {
			t.Errorf("the log has actions by %q", got)
		}

		changes := s.job("good").Changes
		if len(changes) != 2 || changes[0].What != "trigger" || changes[0].By != "ann" || changes[1].What != "pause" ||
			changes[1].By != "mallory" || changes[1].Replica != s.follower.Elector.Identity() || time.Since(changes[1].At) > time.Minute {
			t.Errorf("the job's changes are %+v", changes)
		}
		page := s.get("/job?name=good").Body.String()
		want.Parts(t, "the job's page", page, "Pauses and triggers", ">mallory<", ">ann<")
		if strings.Contains(page, "alice") {
			t.Error("the page shows what was claimed")
		}
		if changes := s.job("long").Changes; changes == nil || len(changes) > 0 {
			t.Errorf("another job's changes are %+v, want an empty list", changes)
		}
	}, dashboard.AllowActions(bySession), dashboard.WithLogger(zap.New(core)))
}

func TestPage_ShowsButtonsToThoseWhoMayAct(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		for who, may := range map[string]bool{"ann": true, "eve": false, "": false} {
			for _, path := range []string{"/", "/job?name=good"} {
				body := s.getAs(path, who).Body.String()
				if has := strings.Contains(body, `<form method="post"`); has != may {
					t.Errorf("%q sees buttons at %s: %v", who, path, has)
				}
			}
			events, left := s.listenAs("/events", who)
			time.Sleep(time.Second)
			left()
			if has := strings.Contains(events.first(), `<form method="post"`); has != may {
				t.Errorf("%q is sent buttons: %v", who, has)
			}
		}
		// While both listen, neither gets the events of the other.
		eve, _ := s.listenAs("/events", "eve")
		ann, _ := s.listenAs("/events", "ann")
		time.Sleep(time.Second)
		if strings.Contains(eve.first(), `<form method="post"`) || !strings.Contains(ann.first(), `<form method="post"`) {
			t.Error("a stream with buttons and one without are rendered together")
		}
	}, dashboard.AllowActions(bySession))
}
