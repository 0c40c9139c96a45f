package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestAPI_TellsAllThatThePageShows(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		a := s.api()
		if a.Leader == nil || a.Leader.ID != s.leader.Elector.Identity() || a.Leader.Lease <= 0 || len(a.Problems) != 0 ||
			a.Leader.Since.IsZero() {
			t.Errorf("leader %+v, problems %q", a.Leader, a.Problems)
		}
		if a.Replica.ID != s.follower.Elector.Identity() || a.Replica.State != string(election.StateFollowing) {
			t.Errorf("this replica is %+v", a.Replica)
		}
		if len(a.Nodes) != 3 || a.Nodes[0].Addr != s.nodes.Addrs()[0] || len(a.Terms) != 1 || len(a.Jobs) != 4 {
			t.Fatalf("%d nodes, %d terms, %d jobs", len(a.Nodes), len(a.Terms), len(a.Jobs))
		}
		berlin, bad, good, long := a.Jobs[0], a.Jobs[1], a.Jobs[2], a.Jobs[3]
		if berlin.Zone != "Europe/Berlin" || berlin.Words != "every day at 02:30" || berlin.Last != nil ||
			berlin.Next.Hour() != 1 {
			t.Errorf("%+v", berlin)
		}
		if bad.Failures == 0 || bad.Last.State != "failed" || bad.Last.Error != "<img src=x onerror=alert(2)>" {
			t.Errorf("%+v, %+v", bad, bad.Last)
		}
		if good.Failures != 0 || good.Last.State != "ok" || time.Until(good.Next) != 30*time.Second {
			t.Errorf("%+v, %+v", good, good.Last)
		}
		if !long.Running || long.Last.State != "running" || long.Why != "a run was under way" || time.Since(long.WhyTick) > 10*time.Second ||
			long.Last.Took < 20_000 {
			t.Errorf("%+v, %+v", long, long.Last)
		}
		if len(a.Runs) != 3 || a.Runs[2].Job != "long" || a.Runs[2].State != "running" { // the last of each job
			t.Errorf("runs %+v", a.Runs)
		}
	})
}

// Why a tick did not run is the main question of users.
func TestPage_SaysWhyATickWasNotRun(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		want.NoError(t, s.leader.Scheduler.Pause(t.Context(), "good"))
		time.Sleep(time.Minute)
		good := func() string { return s.api().Jobs[2].Why }
		if why := good(); why != fmt.Sprintf("paused by somebody on %q", s.leader.Elector.Identity()) {
			t.Errorf("paused: %q", why)
		}
		want.NoError(t, s.leader.Scheduler.Resume(t.Context(), "good"))
		s.stop(s.leader)
		s.stop(s.follower)
		time.Sleep(2 * time.Minute)
		if why := good(); why != "nobody leads" {
			t.Errorf("without a leader: %q", why)
		}
		page := s.get("/").Body.String()
		want.Parts(t, "the page", page, "Nobody leads", "nobody leads", "stopped", `<noscript><meta http-equiv="refresh"`)
	})
}

func TestPage_FindsJobs(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		listed := func(path string) string { // by a link that only the list of jobs has
			_, rest, _ := strings.Cut(s.get(path).Body.String(), `id="jobs"`)
			list, _, _ := strings.Cut(rest, `id="newest"`)
			var names []string
			for _, job := range []string{"good", "bad", "a/b", "long"} {
				if strings.Contains(list, ">"+job) {
					names = append(names, job)
				}
			}
			return strings.Join(names, " ")
		}
		for path, want := range map[string]string{
			"/": "good bad a/b long", "/?q=BERLIN": "a/b", "/?q=oo": "good", "/?only=trouble": "bad long", "/?only=running": "long",
			"/?only=paused": "", "/?q=nothing": "", "/?page=1": "good bad a/b long",
		} {
			if got := listed(path); got != want {
				t.Errorf("%s lists %q, want %q", path, got, want)
			}
		}
		want.Parts(t, "the page", s.get("/?q=nothing").Body.String(), "matches “nothing”")
	})
}

func TestHandler_AnswersBadRequestsClearly(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		for _, c := range []struct {
			method, path string
			status       int
			text         string
		}{
			{"GET", "/job?name=unknown", http.StatusNotFound, `no leader has ever had a job "unknown"`},
			{"GET", "/job", http.StatusNotFound, "no job is named"},
			{"GET", "/api?name=unknown", http.StatusNotFound, `"unknown"`},
			{"GET", "/events?name=unknown", http.StatusNotFound, `"unknown"`},
			{"GET", "/elsewhere", http.StatusNotFound, ""},
			{"GET", "/pause", http.StatusMethodNotAllowed, ""},
			{"POST", "/", http.StatusMethodNotAllowed, ""},
			{"DELETE", "/api", http.StatusMethodNotAllowed, ""},
		} {
			r := httptest.NewRequest(c.method, c.path, nil)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			w := httptest.NewRecorder()
			s.page.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
				t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
			}
		}
	})
}

func TestHandler_WorksBelowAnyPrefix(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		page := s.page
		mux := http.NewServeMux()
		mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", page))
		mux.Handle("/other", http.StripPrefix("/other", page))
		mux.Handle("/other/", http.StripPrefix("/other", page))
		s.page = mux
		for path, location := range map[string]string{"/ops/jobs": "/ops/jobs/", "/other": "./other/"} {
			if w := s.get(path); w.Code/100 != 3 || w.Header().Get("Location") != location {
				t.Errorf("%s: %d to %q", path, w.Code, w.Header().Get("Location"))
			}
		}
		for _, path := range []string{"", "api", "style.css", "live.js", "job?name=good"} {
			if w := s.get("/ops/jobs/" + path); w.Code != http.StatusOK || w.Body.Len() == 0 {
				t.Errorf("%s: %d", path, w.Code)
			}
		}
		body := s.get("/ops/jobs/").Body.String()
		for _, absolute := range []string{`href="/`, `src="/`, `action="/`, "http://", "https://"} {
			if strings.Contains(body, absolute) {
				t.Errorf("the page has %s, which leads elsewhere", absolute)
			}
		}
	})
}

func TestHandler_ForbidsWhatAPageMustNotDo(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		for _, path := range []string{"/", "/api", "/elsewhere", "/live.js", "/job?name=good"} {
			h := s.get(path).Header()
			for key, want := range map[string]string{
				"Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
				"Access-Control-Allow-Origin": "",
			} {
				if got := h.Get(key); got != want {
					t.Errorf("%s: %s is %q, want %q", path, key, got, want)
				}
			}
			want.Parts(t, path, h.Get("Content-Security-Policy"), "default-src 'none'", "frame-ancestors 'none'")
		}
	})
}

func TestHandler_WantsSomethingToServe(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a page of nothing")
		}
	}()
	dashboard.Handler(nil, nil)
}
