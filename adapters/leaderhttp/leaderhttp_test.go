package leaderhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/adapters/leaderhttp"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// network routes each request to the replica of its host, without a socket.
type network map[string]http.Handler

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	h := n[r.URL.Host]
	if len(r.Header.Values("Redlock-Forwarded")) > 5 {
		return nil, errors.New("sent on forever")
	}
	if h == nil {
		return nil, errors.New("connection refused")
	}
	if r.Body == nil {
		r.Body = http.NoBody // as a server has it
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// anywhere allows every address.
func anywhere(*url.URL) error { return nil }

// answering returns a handler that answers with the name of its replica and the request.
func answering(id string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // of a test
		_, _ = fmt.Fprintf(w, "%s: %s %s %s", id, r.Method, r.URL.RequestURI(), body)
	})
}

func ask(h http.Handler, method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		t.Errorf("%d %q, want %d with %q", w.Code, w.Body, status, text)
	}
}

func TestProxy_HasTheLeaderAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		a := nodes.Replica(election.WithIdentity("a", "http://a:8080/api"))
		b := nodes.Replica(election.WithIdentity("b", "http://b:8080"))
		replicas := make(network)
		onA := leaderhttp.Proxy(a.Elector, anywhere, leaderhttp.WithTransport(replicas))(answering("a"))
		onB := leaderhttp.Proxy(b.Elector, anywhere, leaderhttp.WithTransport(replicas))(answering("b"))
		replicas["a:8080"] = http.StripPrefix("/api", onA)
		replicas["b:8080"] = onB
		w := ask(onB, "POST", "/stock?x=1", "two")
		want(t, w, http.StatusServiceUnavailable, "no leader to answer")
		if w.Header().Get("Retry-After") != "1" {
			t.Error("Retry-After is missing")
		}
		a.Lead()
		b.Run()
		time.Sleep(2 * time.Second)
		want(t, ask(onA, "POST", "/stock?x=1", "two"), http.StatusOK, "a: POST /stock?x=1 two")
		want(t, ask(onB, "POST", "/stock?x=1", "two"), http.StatusOK, "a: POST /stock?x=1 two")
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		want(t, ask(onA, "GET", "/a%2fb?", ""), http.StatusOK, "b: GET /a%2fb?")
		delete(replicas, "b:8080")
		want(t, ask(onA, "GET", "/", ""), http.StatusBadGateway, "the leader does not answer")
	})
}

func TestProxy_RefusesALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		replicas := make(network)
		// The leader's value names another replica, which does not lead.
		a := nodes.Replica(election.WithIdentity("a", "http://b:8080"))
		b := nodes.Replica(election.WithIdentity("b", "http://b:8080"))
		replicas["b:8080"] = leaderhttp.Proxy(b.Elector, anywhere, leaderhttp.WithTransport(replicas))(answering("b"))
		a.Lead()
		want(t, ask(replicas["b:8080"], "GET", "/", ""), http.StatusLoopDetected, "does not lead either")
		// The header of another election does not matter.
		other := func(r *http.Request) { r.Header.Set("Redlock-Forwarded", "another") }
		want(t, ask(leaderhttp.Redirect(b.Elector, anywhere)(answering("b")), "GET", "/", "", other), http.StatusTemporaryRedirect, "")
	})
}

// The nodes are asked once a second, no matter how many requests there are.
func TestMiddleware_AsksTheNodesOnceASecond(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		candidate := func(id string) *election.Elector {
			locker, _ := c.Locker()
			e, err := election.New(locker, "test", election.WithIdentity(id, "http://"+id))
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		a, b := candidate("a"), candidate("b")
		ended := make(chan error, 1)
		go func() { ended <- a.Run(t.Context()) }() // ends with the test
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		h := leaderhttp.Redirect(b, anywhere)(answering("b"))
		time.Sleep(5 * time.Second)
		want(t, ask(h, "GET", "/", ""), http.StatusTemporaryRedirect, "") // connects this process to the nodes
		time.Sleep(5 * time.Second)
		requests := func() int { return c.Requests(0) + c.Requests(1) + c.Requests(2) }
		before := requests()
		for range 1000 {
			want(t, ask(h, "GET", "/", ""), http.StatusTemporaryRedirect, "")
		}
		synctest.Wait()
		if n := requests() - before; n == 0 || n > 2*3 {
			t.Errorf("a thousand requests asked the nodes %d times, want each once or twice", n)
		}
	})
}

func TestLiveness_FailsOnlyIfARestartHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		stuck := make(chan struct{})
		r := nodes.Replica(election.OnLeader(func(context.Context) { <-stuck }))
		h := leaderhttp.Liveness(r.Elector)
		r.Lead()
		want(t, ask(h, "GET", "/livez", ""), http.StatusOK, "ok")
		r.Cut()
		time.Sleep(time.Minute) // the callback outlives its lease
		want(t, ask(h, "GET", "/livez", ""), http.StatusServiceUnavailable, "election:")
		close(stuck)
		r.Heal()
		time.Sleep(time.Minute)
		want(t, ask(h, "GET", "/livez", ""), http.StatusOK, "ok")

		other := nodes.Replica() // of another service, by mistake under the same name: its job never runs, whatever restarts
		err := other.Scheduler.Add(scheduler.Job{Name: "x", Spec: "@daily", Run: func(context.Context, scheduler.Run) error { return nil }})
		other.Run()
		time.Sleep(15 * time.Minute)
		if err != nil || other.Elector.Check() == nil {
			t.Fatal("Check is nil", err)
		}
		want(t, ask(leaderhttp.Liveness(other.Elector), "GET", "/livez", ""), http.StatusOK, "ok")
	})
}
