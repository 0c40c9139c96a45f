package leaderhttp

import (
	"net"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"
)

// Option changes a setting of [Redirect] or [Proxy].
type Option func(*settings)

type settings struct {
	allow     func(*url.URL) error
	log       *zap.Logger
	transport http.RoundTripper
	gateway   bool
	kept      []string // headers that a Connection header does not remove
}

// WithLogger sets where it is logged why a request was not led to the leader; nowhere if not set or nil.
func WithLogger(log *zap.Logger) Option {
	return func(s *settings) {
		if log != nil {
			s.log = log
		}
	}
}

// WithTransport sets how [Proxy] asks the leader. If not set or nil, it connects without a proxy, and waits 30 s at most
// until the leader begins to answer. Without such a bound, requests to a leader that hangs pile up on all followers.
func WithTransport(transport http.RoundTripper) Option {
	return func(s *settings) {
		if transport != nil {
			s.transport = transport
		}
	}
}

// WithGateway says that all requests come through a gateway that sets or removes Forwarded, X-Forwarded-For, -Host, -Proto
// and the named headers itself. [Proxy] passes these on, and appends to X-Forwarded-For; a Connection header does not
// remove them. If a client can reach a replica without the gateway, it can write what it likes into them.
func WithGateway(headers ...string) Option {
	return func(s *settings) {
		s.gateway = true
		for _, name := range append(headers, "Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto") {
			s.kept = append(s.kept, http.CanonicalHeaderKey(name))
		}
	}
}

// newSettings panics if allow is nil: a replica without it would follow whatever the nodes say.
func newSettings(allow func(*url.URL) error, opts []Option) *settings {
	if allow == nil {
		panic("leaderhttp: allow is nil: Redirect and Proxy need to know which URLs are those of replicas, see Hosts")
	}
	s := &settings{allow: allow, log: zap.NewNop()}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// newTransport is like [http.DefaultTransport], but for requests between replicas.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 nil, // that of the environment would get the clients' credentials
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   32,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // the client gets what the leader sends
	}
}
