package leaderhttp

import (
	"log"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The leader gets all headers of a client, except those about the connection and those that claim to be from somebody
// else.
func FuzzHeaders(f *testing.F) {
	f.Add("close, X-Auth, X-Other, X-Forwarded-For", "203.0.113.9", "for=a", "other", "a=1;b=2")
	f.Add("Redlock-Forwarded", "a, b", "", "billing", "%zz")
	f.Add("X-Forwarded-For\tX", " ", "\x00", "é", "")
	base := &url.URL{Scheme: "http", Host: "10.1.2.3:8080", Path: "/base"}
	f.Fuzz(func(t *testing.T, connection, chain, forwardedFor, sentOn, query string) {
		for _, gateway := range []bool{false, true} {
			s := newSettings(func(*url.URL) error { return nil }, nil)
			if gateway {
				WithGateway("X-Auth")(s)
			}
			var got *http.Request
			s.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				got = r
				return httptest.NewRecorder().Result(), nil
			})
			r := httptest.NewRequest(http.MethodGet, "/x", nil)
			r.RemoteAddr, r.URL.RawQuery = "10.0.0.5:1234", query
			r.Header = http.Header{
				"Connection": {connection}, "X-Forwarded-For": {chain}, "X-Forwarded-Proto": {"https"},
				"X-Forwarded-Host": {"shop.example"}, "Forwarded": {forwardedFor},
				forwarded: {sentOn}, "X-Auth": {"alice"}, "X-Other": {"x"}, "Proxy-Authorization": {"pw"},
			}
			s.proxyTo(base, "billing", log.New(t.Output(), "", 0)).ServeHTTP(httptest.NewRecorder(), r)
			if got == nil {
				continue // ReverseProxy has refused it
			}
			if got.URL.Host != base.Host || got.URL.RawQuery != query || got.URL.Path != "/base/x" {
				t.Errorf("it goes to %v", got.URL)
			}
			var named []string
			for name := range strings.SplitSeq(connection, ",") {
				named = append(named, textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)))
			}
			want := func(name string, values ...string) {
				if !slices.Equal(got.Header[name], values) {
					t.Errorf("gateway %v, Connection %q: %s is %q, want %q", gateway, connection, name, got.Header[name], values)
				}
			}
			if !slices.Contains(named, "X-Other") {
				want("X-Other", "x")
			} else {
				want("X-Other")
			}
			if gateway || !slices.Contains(named, "X-Auth") {
				want("X-Auth", "alice")
			} else {
				want("X-Auth")
			}
			want("Proxy-Authorization")
			want("Connection")
			if !slices.Contains(got.Header[forwarded], "billing") {
				t.Errorf("the next replica would send it on: %q", got.Header[forwarded])
			}
			if gateway {
				want("X-Forwarded-For", chain+", 10.0.0.5")
				want("X-Forwarded-Proto", "https")
				want("X-Forwarded-Host", "shop.example")
				want("Forwarded", forwardedFor)
			} else {
				want("X-Forwarded-For", "10.0.0.5")
				want("X-Forwarded-Proto", "http")
				want("X-Forwarded-Host", "example.com")
				want("Forwarded")
			}
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
