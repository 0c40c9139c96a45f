package leaderhttp

import (
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
)

// forwarded is a header that forwarded requests have, with the election's name.
const forwarded = "Redlock-Forwarded"

// Redirect calls the handler on the leader. Other replicas answer with 307 to the same path and query on the leader.
// They answer 508 if that is the address that the client has just asked, for example a load balancer in front of all
// replicas. allow returns an error for a URL to which no client may be redirected: see [Hosts]. It must not be nil.
func Redirect(
	elector *election.Elector, allow func(leader *url.URL) error, opts ...Option,
) func(http.Handler) http.Handler {
	return onLeader(elector, newSettings(allow, opts), func(w http.ResponseWriter, r *http.Request, base *url.URL) {
		host, port := address(base.Host, base.Scheme)
		if askedHost, askedPort := address(r.Host, base.Scheme); host == askedHost && port == askedPort {
			refuse(w, http.StatusLoopDetected, "the leader's address leads back here")
			return
		}
		to := *base
		to.Path = strings.TrimSuffix(base.Path, "/") + r.URL.Path
		to.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + r.URL.EscapedPath()
		to.RawQuery, to.ForceQuery = r.URL.RawQuery, r.URL.ForceQuery
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
	})
}

// Proxy calls the handler on the leader. Other replicas forward the request to the leader and return its answer, or
// 502 if it does not answer. allow returns an error for a URL to which no request may be sent: see [Hosts]. It must
// not be nil.
func Proxy(
	elector *election.Elector, allow func(leader *url.URL) error, opts ...Option,
) func(http.Handler) http.Handler {
	s := newSettings(allow, opts)
	if s.transport == nil {
		s.transport = newTransport()
	}
	errorLog := zap.NewStdLog(s.log)
	return onLeader(elector, s, func(w http.ResponseWriter, r *http.Request, base *url.URL) {
		s.proxyTo(base, elector.Name(), errorLog).ServeHTTP(w, r)
	})
}

// proxyTo returns a proxy that forwards requests to the leader of an election.
func (s *settings) proxyTo(base *url.URL, election string, errorLog *log.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: s.transport,
		ErrorLog:  errorLog,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(base)
			p.Out.URL.RawQuery = p.In.URL.RawQuery // ReverseProxy drops what url.ParseQuery does not accept
			s.setForwarded(p)
			p.Out.Header.Add(forwarded, election)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				s.log.Warn("the leader does not answer, answering 502", zap.String("election", election),
					zap.String("leader", base.Host), zap.Error(err))
			}
			refuse(w, http.StatusBadGateway, "the leader does not answer")
		},
	}
}

// setForwarded sets the headers that say where the request came from. ReverseProxy has removed those of the client.
func (s *settings) setForwarded(p *httputil.ProxyRequest) {
	const chain = "X-Forwarded-For"
	if before := p.In.Header[chain]; s.gateway && len(before) > 0 {
		p.Out.Header[chain] = before // SetXForwarded appends to it
	}
	p.SetXForwarded()
	for _, name := range s.kept {
		if values := p.In.Header[name]; len(values) > 0 {
			p.Out.Header[name] = values
		}
	}
}

func onLeader(
	elector *election.Elector, s *settings, elsewhere func(http.ResponseWriter, *http.Request, *url.URL),
) func(http.Handler) http.Handler {
	known := newLeader(elector, s)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if elector.IsLeader() {
				next.ServeHTTP(w, r)
				return
			}
			for _, name := range r.Header.Values(forwarded) {
				if name == elector.Name() {
					refuse(w, http.StatusLoopDetected, "forwarded by another replica, and this one does not lead either")
					return
				}
			}
			to, _, err := known.Get(r.Context())
			if err != nil || to.err != nil {
				w.Header().Set("Retry-After", "1")
				refuse(w, http.StatusServiceUnavailable, "no leader to answer")
				return
			}
			elsewhere(w, r, to.url)
		})
	}
}

// refuse answers with a text that reveals nothing internal. No cache may keep it for others.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}

// Liveness answers 200 as long as no elector has an [election.ErrRestart] among its problems, even while Redis is down.
// Otherwise it answers 503 with the reason, which is for operators: do not serve it to the public.
func Liveness(electors ...*election.Elector) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, e := range electors {
			if err := e.Check(); errors.Is(err, election.ErrRestart) {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = w.Write([]byte("ok\n")) // an error means that the client is gone
	})
}
