package redlock

import (
	"crypto/tls"
	"regexp"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

const (
	defaultTTL    = 10 * time.Second
	defaultPrefix = "redlock"
)

// maxSkew bounds how far apart the clocks of nodes may be. A larger difference is a clock that is not synchronized.
const maxSkew = time.Second

// MinTTL is the shortest TTL. Below it, timers and round trips would use up the lease.
const MinTTL = 100 * time.Millisecond

// longestTTL is the limit for any lease; scripts have room for three times that.
const longestTTL = 10 * 365 * 24 * time.Hour

// Settings are the settings of a Locker, with defaults for those that no option has set.
type Settings struct {
	KeyPrefix   string
	TTL         time.Duration // of a lease without WithLeaseTTL
	MaxTTL      time.Duration // of any lease
	NodeTimeout time.Duration // how long a node may take to answer
	// MaxClockSkew is how far apart the clocks of two nodes may be for the votes of both to count, if there are three nodes or
	// more. With fewer, no clock can be checked against the others.
	MaxClockSkew time.Duration
	RestartGuard bool
	// UnseenRestarts accepts nodes whose restarts cannot be detected.
	UnseenRestarts bool
	FenceRetention time.Duration // how long a node keeps a fencing number after the hold

	clock *clock.Clock
	// tls returns WithTLS's config; nil: the URLs decide. It is a function because fmt follows a pointer for verbs that
	// do not fit, and would print the private key.
	tls func() *tls.Config
}

// Option changes a setting of a Locker.
type Option func(*options)

// options keeps Option from being written by others.
type options struct{ Settings }

// WithKeyPrefix sets the prefix of all keys: 1 to 64 letters, digits, dots, underscores or hyphens; "redlock" if not
// set. Lockers see each other's locks only under the same prefix, and only with the same list of nodes.
func WithKeyPrefix(prefix string) Option { return func(o *options) { o.KeyPrefix = prefix } }

// WithTTL sets how long a lease lasts without extension; 10 s if not set, at least 100 ms. Too long: after a crash,
// nobody gets the lock for that long. Too short: a pause or a slow network loses the lease.
func WithTTL(d time.Duration) Option { return func(o *options) { o.TTL = d } }

// WithMaxTTL sets the longest TTL that a lease may ask for; the TTL if not set. A node that is new, was restarted,
// flushed or promoted grants nothing for that long, since it may have lost a lease. MaxTTL must be the same for all
// users of a prefix, and the nodes remember the longest. Raise it everywhere before a longer lease is used. Too long:
// each node is missing for that long after a restart, and all nodes at the very first start. Too short: it limits
// leases.
func WithMaxTTL(d time.Duration) Option { return func(o *options) { o.MaxTTL = d } }

// WithNodeTimeout sets how long a node may take to answer; TTL/50 within 20 to 200 ms if not set. Too long: with a
// majority unreachable, every call waits that long. Too short: a node that is merely slow does not count.
func WithNodeTimeout(d time.Duration) Option { return func(o *options) { o.NodeTimeout = d } }

// WithoutRestartGuard lets nodes grant locks immediately after they were started, restarted or flushed. It is meant for
// throwaway nodes in tests. Elsewhere, a node that has lost a lock grants it to somebody else.
func WithoutRestartGuard() Option { return func(o *options) { o.RestartGuard = false } }

// WithUnseenRestarts accepts nodes that do not let scripts call INFO, such as Redis Enterprise and services built on
// it. Without this option they are refused. With it, a restart of such a node is detected only if its data is gone. A
// node that comes back with an older copy of its data, or a replica promoted without the last writes, may grant a lock
// to a second holder, with the same token. Nor is it detected if two addresses lead to the same server.
func WithUnseenRestarts() Option { return func(o *options) { o.UnseenRestarts = true } }

// WithFenceRetention sets how long a node keeps the fencing number of a lock after the hold. If not set, it is one
// hour, or ten times MaxTTL if that is more. Set it if you lock thousands of names a second that are used only once, such
// as the numbers of orders. It must be at least MaxTTL + [Settings].MaxClockSkew. Too long: such names fill the nodes'
// memory, with about 130 bytes each. Too short: if the clocks of nodes differ by that much, a later lease may get a
// smaller token.
func WithFenceRetention(d time.Duration) Option { return func(o *options) { o.FenceRetention = d } }

// WithTLS sets the TLS configuration for [Open]: trusted CAs, a client certificate, a server name. All URLs must then
// be rediss:// URLs. By default the server name is the URL's host, and TLS 1.2 the oldest version. config must not
// change afterwards. [New] refuses this option: its clients have their own options.
func WithTLS(config *tls.Config) Option {
	return func(o *options) {
		if o.tls = nil; config != nil {
			o.tls = func() *tls.Config { return config }
		}
	}
}

// newSettings returns the settings, and what is wrong with them.
func newSettings(opts []Option) (Settings, problems) {
	var found problems
	o := options{Settings{KeyPrefix: defaultPrefix, TTL: defaultTTL, RestartGuard: true}}
	for i, opt := range opts {
		if opt == nil {
			found.add("option %d of %d is nil", i+1, len(opts))
			continue
		}
		opt(&o)
	}
	s := o.Settings
	if s.clock == nil {
		s.clock = clock.New()
	}
	if s.MaxTTL == 0 {
		s.MaxTTL = s.TTL
	}
	if s.NodeTimeout == 0 {
		s.NodeTimeout = min(max(s.TTL/50, 20*time.Millisecond), 200*time.Millisecond)
	}
	s.MaxClockSkew = min(maxSkew, max(clock.Allowance(s.TTL), 2*s.NodeTimeout))
	if s.FenceRetention == 0 {
		s.FenceRetention = max(time.Hour, 10*s.MaxTTL)
	}
	return s, append(found, s.problems()...)
}

var prefixRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (s Settings) problems() problems {
	var found problems
	if !prefixRule.MatchString(s.KeyPrefix) {
		found.add("key prefix %q must be 1 to 64 letters, digits, '.', '_' or '-'", s.KeyPrefix)
	}
	if s.TTL < MinTTL {
		found.add("ttl %v must be at least %v", s.TTL, MinTTL)
	}
	if s.TTL > s.MaxTTL {
		found.add("ttl %v must not be above max ttl %v", s.TTL, s.MaxTTL)
	}
	if s.NodeTimeout < time.Millisecond {
		found.add("node timeout %v must be at least %v", s.NodeTimeout, time.Millisecond)
	} else if s.TTL >= MinTTL && s.NodeTimeout >= s.TTL/3 {
		found.add("node timeout %v must be below ttl/3 %v, the interval of renewals",
			s.NodeTimeout, s.TTL/3)
	}
	if s.MaxTTL > longestTTL {
		found.add("max ttl %v is more than ten years", s.MaxTTL)
	}
	if s.FenceRetention < s.MaxTTL+s.MaxClockSkew {
		found.add("fence retention %v must be at least max ttl %v + max clock skew %v", s.FenceRetention, s.MaxTTL,
			s.MaxClockSkew)
	}
	return found
}
