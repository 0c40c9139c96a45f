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

// WithLogger sets the logger for the reasons why requests did not reach the leader. Without it, or with nil, nothing
// is logged.
func WithLogger(log *zap.Logger) Option {
	return func(s *settings) {
		if log != nil {
			s.log = log
		}
	}
}

// WithTransport sets the transport from [Proxy] to the leader. The default connects without a proxy, and waits up to
// 30 s until the leader starts to answer. Without such a limit, requests to a leader that hangs pile up on all
// followers.
func WithTransport(transport http.RoundTripper) Option {
	return func(s *settings) {
		if transport != nil {
			s.transport = transport
		}
	}
}

// WithGateway declares that all requests come through a gateway that sets or removes Forwarded, X-Forwarded-For,
// -Host, -Proto and the named headers itself. [Proxy] passes these on, and appends to X-Forwarded-For; a Connection
// header does not remove them. If a client can reach a replica without the gateway, it can forge these headers.
func WithGateway(headers ...string) Option {
	return func(s *settings) {
		s.gateway = true
		for _, name := range append(headers, "Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto") {
			s.kept = append(s.kept, http.CanonicalHeaderKey(name))
		}
	}
}

// newSettings panics if allow is nil, because the replica would then trust any URL on the nodes.
func newSettings(allow func(*url.URL) error, opts []Option) *settings {
	if allow == nil {
		panic("leaderhttp: allow is nil: Redirect and Proxy must know the URLs of the replicas, see Hosts")
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
		Proxy:                 nil, // a proxy of the environment would get the clients' credentials
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   32,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // pass on exactly what the leader sends
	}
}
