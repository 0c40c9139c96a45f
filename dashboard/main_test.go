package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// ttl makes renewals rare, because these tests are not about them.
const ttl = 2 * time.Minute

// service is a leader and a follower in virtual time; the follower serves the page.
type service struct {
	t        *testing.T
	nodes    *redlocktest.Nodes
	leader   *redlocktest.Replica
	follower *redlocktest.Replica
	page     http.Handler
	hangs    atomic.Bool // the hooks do not return
}

// serve runs the jobs for a minute and a half before the test, which starts half a minute after a full minute.
func serve(t *testing.T, test func(t *testing.T, s *service), opts ...dashboard.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		s := &service{t: t, nodes: nodes}
		terms := election.WithHooks(termlog.Hooks())
		hung := election.WithHooks(election.Hooks{Renewed: func(*election.Term, int, time.Duration, error) {
			for s.hangs.Load() {
				time.Sleep(time.Second)
			}
		}})
		s.leader, s.follower = nodes.Replica(terms, hung), nodes.Replica(terms, hung)
		for _, r := range []*redlocktest.Replica{s.leader, s.follower} {
			want.NoError(t, r.Scheduler.Add(jobs()...))
		}
		s.leader.Lead()
		s.follower.Run()
		s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, opts...)
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(90 * time.Second)))
		test(t, s)
	})
}

func jobs() []scheduler.Job {
	return []scheduler.Job{
		{Name: "good", Spec: "* * * * *", Run: func(context.Context, scheduler.Run) error { return nil }},
		{Name: "bad <script>alert(1)</script>", Spec: "* * * * *", Run: func(context.Context, scheduler.Run) error {
			return errors.New("<img src=x onerror=alert(2)>\nand a second line")
		}},
		{Name: "a/b?c=d&e", Spec: "CRON_TZ=Europe/Berlin 30 2 * * *",
			Run: func(context.Context, scheduler.Run) error { return nil }},
		{Name: "long", Spec: "*/10 * * * * *", Run: func(ctx context.Context, _ scheduler.Run) error {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			return nil
		}},
	}
}

// get requests a path below the page's prefix.
func (s *service) get(path string) *httptest.ResponseRecorder { return s.getAs(path, "") }

// getAs does so with the session of who, or without a session if who is empty.
func (s *service) getAs(path, who string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.page.ServeHTTP(w, requestOf(path, who))
	return w
}

func requestOf(path, who string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if who != "" {
		signedIn(who)(r)
	}
	return r
}

// post sends an action's form as a browser would from the page itself.
func (s *service) post(action, job string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	form := url.Values{"job": {job}, "back": {"paused"}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/"+action, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.page.ServeHTTP(w, r)
	return w
}

// api returns the JSON of the page of all jobs.
func (s *service) api() answer { return decode[answer](s, "/api") }

// job returns the JSON of a job.
func (s *service) job(name string) jobAnswer { return decode[jobAnswer](s, "/api?name="+name) }

func decode[T any](s *service, path string) (v T) {
	s.t.Helper()
	w := s.get(path)
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != http.StatusOK {
		s.t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	return v
}

// answer has the fields of the JSON that the tests check, decoded as a user's program would.
type answer struct {
	Problems []string
	Leader   *struct {
		ID      string
		Term    uint64
		Since   time.Time
		Expired bool
		Lease   float64 `json:"lease_ms"`
	}
	Replica struct {
		ID, State string
		Check     []string
	}
	Nodes []struct{ Addr, Error string }
	Jobs  []struct {
		Name, Words, Zone, Why string
		WhyTick                time.Time `json:"why_tick"`
		Next                   time.Time
		Paused, Running        bool
		Failures               int
		Pause                  *struct{ By, Reason string }
		Last                   *struct {
			State, Error string
			Took         float64 `json:"took_ms"`
		}
	}
	Runs       []struct{ Job, State string }
	Terms      []struct{ Replica string }
	Leaderless []struct {
		From, To time.Time
		Sure     bool
	}
	Replicas []struct{ ID, State string }
}

type jobAnswer struct {
	Problems []string
	Records  []struct {
		Tick    time.Time
		Rerun   bool
		Attempt int
		State   string
		Ticks   int
	}
	Changes []struct {
		What, By, Replica string
		At                time.Time
	}
}

// lacks fails the test if a text contains one of the parts.
func lacks(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s has %q", what, part)
		}
	}
}

// stop stops a replica.
func (s *service) stop(r *redlocktest.Replica) {
	s.t.Helper()
	want.NoError(s.t, r.Stop())
}

// stream is a browser that listens to events.
type stream struct {
	http.ResponseWriter
	ended chan struct{} // closed when the server has ended it

	mu     sync.Mutex // guards the fields below
	events []string
	broken error // the connection
}

func (s *stream) Header() http.Header { return http.Header{} }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Flush()              {}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return 0, s.broken
	}
	s.events = append(s.events, string(b))
	return len(b), nil
}

func (s *stream) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// first is the first event.
func (s *stream) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return ""
	}
	return s.events[0]
}

// listen opens a stream of events. left closes it as a browser would, and waits for its end.
func (s *service) listen(path string) (events *stream, left func()) { return s.listenAs(path, "") }

func (s *service) listenAs(path, who string) (events *stream, left func()) {
	events = &stream{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { // ends with ctx, or by itself
		defer close(events.ended)
		s.page.ServeHTTP(events, requestOf(path, who).WithContext(ctx))
	})
	left = func() {
		cancel()
		served.Wait()
	}
	s.t.Cleanup(left)
	return events, left
}
