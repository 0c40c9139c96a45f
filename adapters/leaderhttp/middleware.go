package leaderhttp

import (
	"cmp"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/redlockfx/redlockfx/election"
)

// forwarded is set on what is sent on, to the election's name.
const forwarded = "Redlock-Forwarded"

// Redirect answers on the leader, and otherwise with 307 to the same path and query there; 508 where that is the
// address that the client has asked already, as of a balancer in front of all.
func Redirect(elector *election.Elector) func(http.Handler) http.Handler {
	return onLeader(elector, func(w http.ResponseWriter, r *http.Request, base *url.URL) {
		if base.Host == r.Host {
			http.Error(w, "the leader says that it is at "+base.Host+", which has led here", http.StatusLoopDetected)
			return
		}
		to := *base
		to.Path, to.RawPath, to.RawQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
		if base.Path != "" && base.Path != "/" {
			to = *base.JoinPath(r.URL.EscapedPath())
			to.RawQuery = r.URL.RawQuery
		}
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
	})
}

// Proxy answers on the leader, and otherwise with what the leader answers; 502 where that cannot be had. transport
// is [http.DefaultTransport] if nil.
func Proxy(elector *election.Elector, transport http.RoundTripper) func(http.Handler) http.Handler {
	return onLeader(elector, func(w http.ResponseWriter, r *http.Request, base *url.URL) {
		proxy := httputil.ReverseProxy{
			Transport: transport,
			Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(base)
				p.SetXForwarded()
				p.Out.Header.Add(forwarded, elector.Name())
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, "the leader does not answer: "+err.Error(), http.StatusBadGateway)
			},
		}
		proxy.ServeHTTP(w, r)
	})
}

func onLeader(
	elector *election.Elector, elsewhere func(http.ResponseWriter, *http.Request, *url.URL),
) func(http.Handler) http.Handler {
	known := newLeader(elector)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if elector.IsLeader() {
				next.ServeHTTP(w, r)
				return
			}
			for _, name := range r.Header.Values(forwarded) {
				if name == elector.Name() {
					http.Error(w, "sent on by another replica, and this one does not lead either", http.StatusLoopDetected)
					return
				}
			}
			to, _, err := known.Get(r.Context())
			if err = cmp.Or(err, to.err); err != nil {
				w.Header().Set("Retry-After", "1")
				line, _, _ := strings.Cut(err.Error(), "\n")
				http.Error(w, "no leader to answer: "+line, http.StatusServiceUnavailable)
				return
			}
			elsewhere(w, r, to.url)
		})
	}
}

// Liveness answers 200 as long as each elector is fit to take part ([election.Elector.Check]), also while Redis is
// away; 503 with the reason where a restart is the cure.
func Liveness(electors ...*election.Elector) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, e := range electors {
			if err := e.Check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = w.Write([]byte("ok\n")) // whoever asked is gone
	})
}
