package leaderhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/adapters/leaderhttp"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// FuzzHeaders shows what a gateway or a client has set.
func TestProxy_AddsWhatAGatewayHasNotSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got http.Header
		toLeader := leaderhttp.WithTransport(transport(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return httptest.NewRecorder().Result(), nil
		}))
		h := leaderhttp.Proxy(follower(t, "http://a:8080"), anywhere, toLeader, leaderhttp.WithGateway("x-auth-user"))(answering("b"))
		want(t, ask(h, "GET", "/", "", func(r *http.Request) { r.RemoteAddr = "10.0.0.5:1234" }), http.StatusOK, "")
		for name, want := range map[string]string{
			"X-Auth-User": "", "X-Forwarded-For": "10.0.0.5", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "example.com",
			"Forwarded": "",
		} {
			if got.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, got.Get(name), want)
			}
		}
	})
}

// A client that sends the replicas' header is refused, without harm to others: no cache keeps the answer, and the
// leader ignores the header.
func TestMiddleware_ForwardedFromOutsideDoesNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		a := nodes.Replica(election.WithIdentity("a", "http://a:8080"))
		b := nodes.Replica(election.WithIdentity("b", "http://b:8080"))
		a.Lead()
		outside := func(r *http.Request) { r.Header.Set("Redlock-Forwarded", b.Elector.Name()) }
		toB := leaderhttp.Redirect(b.Elector, anywhere)(answering("b"))
		w := ask(toB, "GET", "/", "", outside)
		want(t, w, http.StatusLoopDetected, "")
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Error("a cache may keep it for others")
		}
		w = ask(toB, "GET", "/", "")
		want(t, w, http.StatusTemporaryRedirect, "")
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Error("a cache may keep the redirect to this leader")
		}
		want(t, ask(leaderhttp.Redirect(a.Elector, anywhere)(answering("a")), "GET", "/", "", outside), http.StatusOK, "a: GET /")
	})
}

// The leader's address is the one that the client asked, in another spelling.
func TestRedirect_RefusesALoopInAnySpelling(t *testing.T) {
	for _, test := range []struct{ value, host string }{
		{"http://EXAMPLE.com", "example.com"}, {"http://example.com:80", "example.com"}, {"http://example.com", "Example.com:80"},
		{"https://example.com", "example.com:443"}, {"https://example.com:443", "example.com"}, {"http://example.com.", "example.com"},
		{"http://[0:0::1]:80", "[::1]"}, {"http://example.com:8080", "example.COM:8080"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := leaderhttp.Redirect(follower(t, test.value), anywhere)(answering("b"))
			want(t, ask(h, "GET", "/", "", func(r *http.Request) { r.Host = test.host }), http.StatusLoopDetected, "leads back here")
			other := func(r *http.Request) { r.Host = "example.com:81" }
			want(t, ask(h, "GET", "/", "", other), http.StatusTemporaryRedirect, "")
		})
	}
}

func TestRedirect_LeadsToTheSamePathOfTheLeader(t *testing.T) {
	for _, test := range []struct{ value, path, location string }{
		{"http://a:8080", "/x%2fy?z=1", "http://a:8080/x%2fy?z=1"},
		{"https://a/base/", "/x", "https://a/base/x"},
		{"http://a/base", "/a//b", "http://a/base/a//b"},
		{"http://a/base", "/a%2F?x;y", "http://a/base/a%2F?x;y"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := ask(leaderhttp.Redirect(follower(t, test.value), anywhere)(answering("b")), "PUT", test.path, "")
			if got := w.Header().Get("Location"); w.Code != http.StatusTemporaryRedirect || got != test.location {
				t.Errorf("%s: %d to %s, want %s", test.path, w.Code, got, test.location)
			}
		})
	}
}

func TestProxy_RevealsNothingInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logged := observer.New(zap.DebugLevel)
		refuses := transport(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("dial tcp 10.1.2.3:666: connect: connection refused")
		})
		h := leaderhttp.Proxy(follower(t, "http://a:8080"), anywhere, leaderhttp.WithTransport(refuses),
			leaderhttp.WithLogger(zap.New(core)))(answering("b"))
		w := ask(h, "GET", "/", "")
		want(t, w, http.StatusBadGateway, "the leader does not answer\n")
		if strings.Contains(w.Body.String(), "10.1.2.3") {
			t.Errorf("the public is told %q", w.Body)
		}
		if logged.Len() != 1 || !strings.Contains(fmt.Sprint(logged.All()), "10.1.2.3") {
			t.Errorf("logged %v", logged.All())
		}
	})
}

// Requests between replicas do not use the proxy of the environment.
func TestProxy_AsksNoProxyOfTheEnvironment(t *testing.T) {
	if leaderhttp.OwnTransport().Proxy != nil {
		t.Error("the transport has a proxy")
	}
}

// Requests do not pile up if the leader accepts them but never answers.
func TestProxy_EndsARequestThatIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := leaderhttp.OwnTransport()
		own.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }() // until the transport closes it
			return near, nil
		}
		h := leaderhttp.Proxy(follower(t, "http://a:8080"), anywhere, leaderhttp.WithTransport(own))(answering("b"))
		began := time.Now()
		want(t, ask(h, "GET", "/", ""), http.StatusBadGateway, "the leader does not answer")
		if d := time.Since(began); d < 20*time.Second || d > time.Minute {
			t.Errorf("it ended after %v", d)
		}
	})
}
