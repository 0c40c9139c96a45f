package leaderhttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/adapters/leaderhttp"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// hosts returns Hosts of patterns that must be valid.
func hosts(t *testing.T, patterns ...string) func(*url.URL) error {
	t.Helper()
	allow, err := leaderhttp.Hosts(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return allow
}

// follower returns a replica whose leader has the given value, as somebody with write access to the nodes may set it.
func follower(t *testing.T, value string) *election.Elector {
	t.Helper()
	nodes := redlocktest.New(t, 1)
	nodes.Replica(election.WithIdentity("a", value)).Lead()
	return nodes.Replica(election.WithIdentity("b", "http://b:8080")).Elector
}

// credentials adds headers that a customer's browser sends.
func credentials(r *http.Request) {
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set("Cookie", "session=1")
}

// careless is what an application may write, which does not look at more than the name and the port.
func careless(u *url.URL) error {
	if (u.Hostname() == "a" || strings.HasSuffix(u.Hostname(), ".stock.svc")) && u.Port() == "8080" {
		return nil
	}
	return errors.New("not one of us")
}

// Somebody who forges the leader's value gets no request, no credentials and no customer.
func TestMiddleware_LeadsOnlyWhereItIsAllowed(t *testing.T) {
	for _, value := range []string{
		"http://evil.example:666/x", "http://a:22", "http://user:pw@a:8080", "http://user@a:8080", "http://a:8080?x=1", "http://a:8080?",
		"http://a:8080/#x", "http://a:8080#", "http://:8080", "http:a:8080", "//a:8080", "http://a:8080@evil.example:8080",
		"", "a:8080", "file:///etc/passwd", "::", "http://[::ffff:7f00:1%25.stock.svc]:8080", // dialing ignores the zone
	} {
		synctest.Test(t, func(t *testing.T) {
			b := follower(t, value)
			core, logged := observer.New(zap.DebugLevel)
			reached := 0
			everywhere := transport(func(*http.Request) (*http.Response, error) {
				reached++
				return httptest.NewRecorder().Result(), nil
			})
			log := leaderhttp.WithLogger(zap.New(core))
			for name, h := range map[string]http.Handler{
				"Proxy":    leaderhttp.Proxy(b, careless, leaderhttp.WithTransport(everywhere), log)(answering("b")),
				"Redirect": leaderhttp.Redirect(b, careless, log)(answering("b")),
			} {
				w := ask(h, "POST", "/stock", "body", credentials)
				want(t, w, http.StatusServiceUnavailable, "no leader to answer")
				if reached > 0 || w.Header().Get("Location") != "" {
					t.Errorf("%s: %q was followed", name, value)
				}
				if strings.Contains(w.Body.String(), "evil") || strings.Contains(w.Body.String(), "a:8080") {
					t.Errorf("%s: %q: the public is told %q", name, value, w.Body)
				}
			}
			text := fmt.Sprint(logged.All())
			if logged.Len() != 2 || !strings.Contains(text, "leader a") {
				t.Errorf("%q: logged %s", value, text)
			}
			if strings.Contains(text, "pw") {
				t.Errorf("the log shows a password: %s", text)
			}
		})
	}
}

// transport answers requests without a socket.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestMiddleware_NeedsToKnowWhatIsAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := redlocktest.New(t, 3).Replica().Elector
		for name, make := range map[string]func(){
			"Proxy": func() { leaderhttp.Proxy(b, nil) }, "Redirect": func() { leaderhttp.Redirect(b, nil) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no Allow is accepted", name)
					}
				}()
				make()
			}()
		}
	})
}

func TestHosts(t *testing.T) {
	for _, test := range []struct {
		pattern, url string
		allowed      bool
	}{
		{"10.0.0.0/8:8080", "http://10.1.2.3:8080", true},
		{"10.0.0.0/8:8080", "http://10.1.2.3:8081", false},
		{"10.0.0.0/8:8080", "http://11.1.2.3:8080", false},
		{"10.0.0.0/8:8080", "http://10.evil.example:8080", false},
		{"10.0.0.0/8:8080", "http://[::ffff:10.1.2.3]:8080", true},
		{"10.0.0.0/8:80", "https://10.1.2.3", false},
		{"10.1.2.3:80", "http://10.1.2.4", false},
		{"[fd00::/8]:80", "http://[fd00::1]", true},
		{"[fd00::1]:80", "http://[fd00:0::1]", true},
		{"*.stock.svc:80", "http://pod-1.stock.svc", true},
		{"*.stock.svc:80", "http://Pod-1.Stock.svc.", true},
		{"*.stock.svc:80", "http://a.pod-1.stock.svc", false},
		{"*.stock.svc:80", "http://pod-1.stock.svc.evil.example", false},
		{"*.stock.svc:80", "http://evilstock.svc", false},
		{"*.stock.svc:80", "http://[::1%25.stock.svc]", false},
		{"*.stock.svc:80", "http://.stock.svc", false},
		{"*.stock.svc:80", "http://a%C3%A4.stock.svc", false},
		{"127.0.0.1:80", "http://[::ffff:127.0.0.1%25x]", false},
		{"[fe80::/10]:80", "http://[fe80::1%25eth0]", false},
		{"r1:80", "http://R1", true},
	} {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := hosts(t, "other:1", test.pattern)(u); (err == nil) != test.allowed {
			t.Errorf("%s, %s: got %v", test.pattern, test.url, err)
		}
	}
	for _, patterns := range [][]string{nil, {""}, {"a"}, {"a:"}, {"*:80"}, {"a.*:80"}, {"10.0.0.0/33:80"}, {"a:http"}, {"a:0"}, {"a:99999"}, {"http://a:80"}, {"a b:80"}, {"[fe80::1%eth0]:80"}} {
		if _, err := leaderhttp.Hosts(patterns...); err == nil {
			t.Errorf("%q is accepted", patterns)
		}
	}
}
