package redlock

import (
	"fmt"
	"regexp"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
)

const (
	defaultTTL    = 10 * time.Second
	defaultDrift  = 0.01
	defaultPrefix = "redlock"
)

// MinTTL is the shortest TTL: below it, timers and round trips eat the lease.
const MinTTL = 100 * time.Millisecond

// Settings are what a Locker works with: its options, and the defaults for the rest.
type Settings struct {
	KeyPrefix   string
	TTL         time.Duration // of a lease that asks for none
	MaxTTL      time.Duration // of any lease
	NodeTimeout time.Duration // how long a node may take to answer
	Drift       float64       // by which the rates of two clocks may differ
}

// Allowance is how much earlier than its TTL a lease ends for its holder.
func (s Settings) Allowance(ttl time.Duration) time.Duration { return allowance(ttl, s.Drift) }

// Option changes a setting of a Locker.
type Option func(*Settings)

// WithKeyPrefix sets the prefix of all keys: 1 to 64 letters, digits, dots, underscores or
// hyphens; "redlock" if not set. Lockers see each other's locks only under the same prefix, and
// only with the same list of nodes.
func WithKeyPrefix(prefix string) Option { return func(s *Settings) { s.KeyPrefix = prefix } }

// WithTTL sets how long a lease lasts without extension; 10 s if not set, at least 100 ms. Too
// long: after a crash nobody gets the lock for that long. Too short: a pause or a slow network
// costs the lease.
func WithTTL(d time.Duration) Option { return func(s *Settings) { s.TTL = d } }

// WithMaxTTL sets the longest TTL that a lease may ask for; the TTL if not set. It must be the
// same for all that use the prefix.
func WithMaxTTL(d time.Duration) Option { return func(s *Settings) { s.MaxTTL = d } }

// WithNodeTimeout sets how long a node may take to answer; TTL/50 within 20 to 200 ms if not set.
// Too long: with a majority away every call waits that long. Too short: a node that is merely
// slow does not count.
func WithNodeTimeout(d time.Duration) Option { return func(s *Settings) { s.NodeTimeout = d } }

// WithDrift sets by what share the rates of two clocks may differ; 0.01 if not set. A lease ends
// for its holder earlier by this share of its TTL, and 2 ms. Too small: clocks may break the
// lock's promise. Too large: time is wasted.
func WithDrift(share float64) Option { return func(s *Settings) { s.Drift = share } }

func newSettings(opts []Option) Settings {
	s := Settings{KeyPrefix: defaultPrefix, TTL: defaultTTL, Drift: defaultDrift}
	for _, opt := range opts {
		opt(&s)
	}
	if s.MaxTTL == 0 {
		s.MaxTTL = s.TTL
	}
	if s.NodeTimeout == 0 {
		s.NodeTimeout = min(max(s.TTL/50, 20*time.Millisecond), 200*time.Millisecond)
	}
	return s
}

var prefixRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (s Settings) problems() []error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if !prefixRule.MatchString(s.KeyPrefix) {
		add("key prefix %q must be 1 to 64 letters, digits, '.', '_' or '-'", s.KeyPrefix)
	}
	if s.TTL < MinTTL {
		add("ttl %v must be at least %v", s.TTL, MinTTL)
	}
	if s.TTL > s.MaxTTL {
		add("ttl %v must not be above max ttl %v", s.TTL, s.MaxTTL)
	}
	if s.NodeTimeout < time.Millisecond {
		add("node timeout %v must be at least %v", s.NodeTimeout, time.Millisecond)
	} else if s.TTL >= MinTTL && s.NodeTimeout >= s.TTL/3 {
		add("node timeout %v must be below ttl/3 %v, the interval of renewals",
			s.NodeTimeout, s.TTL/3)
	}
	if !(s.Drift >= 0 && s.Drift <= 0.2) { // also refuses NaN
		add("drift %v must be within 0 and 0.2", s.Drift)
	}
	return problems
}

// AcquireOption changes one acquisition.
type AcquireOption func(*request)

// request is what one acquisition asks for.
type request struct {
	name   string
	ttl    time.Duration
	text   string
	extend *Extension
}

// WithLeaseTTL sets this lease's TTL, from 100 ms to the Locker's MaxTTL.
func WithLeaseTTL(d time.Duration) AcquireOption { return func(r *request) { r.ttl = d } }

// WithValue sets a text that is stored with the lock and shown by [Locker.Holder]: who holds it,
// for people. Any bytes, at most 4096.
func WithValue(text string) AcquireOption { return func(r *request) { r.text = text } }

// WithAutoExtend has the lease extended in the background until it is released or lost.
func WithAutoExtend(e Extension) AcquireOption { return func(r *request) { r.extend = &e } }

// Extension says how a lease is extended in the background. The zero value is usable.
type Extension struct {
	// Every is the time from one extension to the next; TTL/3 if zero. Too long: fewer chances
	// before the lease runs out. Too short: commands for nothing.
	Every time.Duration
	// Attempts bounds the tries of one extension, which share what is left of the lease; 3 if
	// zero.
	Attempts int
	// Max bounds the extensions in all, after which the lease runs out; no bound if zero.
	Max int
}

const maxText = 4096

func (l *Locker) newRequest(lock string, opts []AcquireOption) (request, []error) {
	r := request{name: lock, ttl: l.settings.TTL}
	for _, opt := range opts {
		opt(&r)
	}
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if err := name.Check("lock name", lock); err != nil {
		add("%w", err)
	}
	if r.ttl < MinTTL || r.ttl > l.settings.MaxTTL {
		add("lease ttl %v must be within %v and max ttl %v", r.ttl, MinTTL, l.settings.MaxTTL)
	}
	if len(r.text) > maxText {
		add("value has %d bytes, it may have %d", len(r.text), maxText)
	}
	if r.extend != nil {
		e := *r.extend // the caller's may be shared
		if e.Every == 0 {
			e.Every = r.ttl / 3
		}
		if e.Attempts == 0 {
			e.Attempts = 3
		}
		r.extend = &e
		if e.Every <= l.settings.NodeTimeout {
			add("extension every %v must be above node timeout %v", e.Every, l.settings.NodeTimeout)
		}
		if left := r.ttl - allowance(r.ttl, l.settings.Drift); e.Every >= left {
			add("extension every %v must be below lease ttl %v less drift: %v", e.Every, r.ttl, left)
		}
		if e.Attempts < 1 {
			add("extension attempts %d must be at least 1", e.Attempts)
		}
		if e.Max < 0 {
			add("extension max %d must not be negative", e.Max)
		}
	}
	return r, problems
}
