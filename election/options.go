package election

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/slogcore"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	maxValue = 3000 // bytes; together with an escaped id it fits into a lock's value

	longest = 100 * 365 * 24 * time.Hour // largest setting; twice that does not overflow

	unset = time.Duration(math.MinInt64)
)

// Option changes how an Elector works.
type Option func(*config)

type config struct {
	Settings
	value     string
	maxTenure time.Duration // unset: none
	onPanic   func(*PanicError)
	hooks     []Hooks // none has a field that is nil
	log       *zap.Logger
	callbacks []func(context.Context)
	nils      []error // options that are nil
}

// OnLeader registers a callback like [Elector.OnLeader].
func OnLeader(fn func(ctx context.Context)) Option {
	return func(c *config) { c.callbacks = append(c.callbacks, fn) }
}

// WithIdentity sets the identity of this candidate, at most 200 bytes, and a value for others to read, such as an address. The
// default identity consists of host, process and a random part. It is for people: two candidates with the same identity are still
// two candidates.
func WithIdentity(id, value string) Option {
	return func(c *config) { c.Identity, c.value = id, value }
}

func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // good enough: the identity is for people, and the lock has its own value
	}
	return fmt.Sprintf("%.150s-%d-%.6s", host, os.Getpid(), crand.Text())
}

// WithTTL sets how long the lease lasts without renewal. The default is the Locker's TTL, and the limit is its MaxTTL. Too long:
// after a crash nobody leads for that long. Too short: a pause or a slow network ends the term.
func WithTTL(d time.Duration) Option { return func(c *config) { c.TTL = d } }

// WithRenewal sets how often the lease is renewed, by default every TTL/3. Too rarely: fewer chances before the stop deadline. Too
// often: unnecessary commands.
func WithRenewal(every time.Duration) Option { return func(c *config) { c.RenewEvery = every } }

// WithStopMargin sets the time that callbacks have to stop when a term is not renewed. The term's contexts end that long before
// anybody else can lead. The default is TTL/5. Too short: callbacks overlap with the next leader. Too long: the term is given up
// while a renewal could still save it.
func WithStopMargin(d time.Duration) Option { return func(c *config) { c.StopMargin = d } }

// WithDrainTimeout sets how long the lease is renewed for callbacks that have not returned after the term was asked to end. The default
// is 10 s. Too short: work is cut off, and the next leader waits for the lease to expire. Too long: a hung callback holds up the
// handover.
func WithDrainTimeout(d time.Duration) Option { return func(c *config) { c.DrainTimeout = d } }

// WithCooldown sets how long this process does not campaign after it gave up a term by itself: when it resigned, at the end of its
// tenure, or after a panic that a handler took. The default is TTL/2, and the minimum 250 ms. Up to a tenth is added at random. Too
// short: this process may win again before the others are notified. Too long: nobody leads meanwhile if there is no other candidate.
func WithCooldown(d time.Duration) Option { return func(c *config) { c.Cooldown = d } }

// WithMaxTenure makes the leader resign after d, plus or minus up to a tenth at random. By default it never does. Too short: many
// handovers. Too long: the instance that was started first leads forever.
func WithMaxTenure(d time.Duration) Option { return func(c *config) { c.maxTenure = d } }

// WithStandby lets the other candidates win first: this process waits for d before it campaigns, at its start and each
// time that nobody leads. It is a weak preference: a standby that leads keeps leading. Too short: it wins if the others
// are slower by that much. Too long: nobody leads meanwhile if there is no other candidate. If d is longer than the
// others' cooldown, it does not win when they give up a term.
func WithStandby(d time.Duration) Option { return func(c *config) { c.Standby = d } }

// WithPanicHandler sets a function that gets each panic of a callback, on the callback's goroutine. The term ends, the lease is not
// released before fn has returned, and after the cooldown the process campaigns again. Without this option Run panics, and the next
// leader starts when the lease has run out.
func WithPanicHandler(fn func(*PanicError)) Option { return func(c *config) { c.onPanic = fn } }

// WithHooks adds hooks that the Elector calls. Hooks of several WithHooks are called in that order, on the same goroutine. If one
// panics, those after it are not called.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = append(c.hooks, h.complete()) } }

// WithLogger sets where terms, and problems with them, are logged. By default, or if log is nil, nothing is logged.
func WithLogger(log *zap.Logger) Option { return func(c *config) { c.log = log } }

// WithSlog is like [WithLogger], with a logger of log/slog.
func WithSlog(log *slog.Logger) Option { return WithLogger(slogcore.New(log)) }

func newConfig(s redlock.Settings, opts []Option) config {
	c := config{maxTenure: unset, Settings: Settings{
		TTL: s.TTL, RenewEvery: unset, StopMargin: unset, DrainTimeout: 10 * time.Second, Cooldown: unset,
	}}
	for i, opt := range opts {
		if opt == nil {
			c.nils = append(c.nils, fmt.Errorf("election: option %d of %d is nil", i+1, len(opts)))
			continue
		}
		opt(&c)
	}
	set := func(d *time.Duration, value time.Duration) {
		if *d == unset {
			*d = value
		}
	}
	set(&c.RenewEvery, c.TTL/3)
	set(&c.StopMargin, c.TTL/5)
	set(&c.Cooldown, c.TTL/2)
	if c.Identity == "" {
		c.Identity = defaultIdentity()
	}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	return c
}

// backoff spaces the attempts that did not find who leads, at random. They double with each such attempt in a row.
func (c config) backoff() retry.Backoff {
	return retry.Backoff{Min: 50 * time.Millisecond, Max: max(c.TTL/20, 50*time.Millisecond)}
}

// enough returns how much of a lease must be left for a term to start. Otherwise, after a pause, callbacks would start and have to
// stop at once.
func (c config) enough() time.Duration {
	return c.StopMargin + min(c.StopMargin, (c.TTL-c.StopMargin)/2)
}

// tenure returns a channel that receives when a term that begins now must end by itself. It is nil if there is no limit.
func (c config) tenure() <-chan time.Time {
	if c.maxTenure == unset {
		return nil
	}
	tenth := c.maxTenure / 10
	return time.After(c.maxTenure - tenth + rand.N(2*tenth))
}

// problems returns everything that is wrong with the settings, or nil.
func (c config) problems(election string, s redlock.Settings) error {
	problems := c.nils
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("election: "+format, args...))
		}
	}
	err := name.Check("name", election)
	check(err == nil, "%w", err)
	most := name.MaxLen - len(inside.ElectionLock(""))
	check(len(election) <= most, "name %.20q... has %d bytes, it may have %d", election, len(election), most)
	err = name.Check("identity", c.Identity)
	check(err == nil, "%w", err)
	check(len(c.value) <= maxValue, "value has %d bytes, it may have %d", len(c.value), maxValue)
	check(c.TTL >= redlock.MinTTL, "ttl %v must be at least %v", c.TTL, redlock.MinTTL)
	check(c.TTL <= s.MaxTTL, "ttl %v must not be above the locker's max ttl %v", c.TTL, s.MaxTTL)
	check(c.RenewEvery > s.NodeTimeout, "renew every %v must be above node timeout %v",
		c.RenewEvery, s.NodeTimeout)
	check(c.StopMargin > 0, "stop margin %v must be above 0", c.StopMargin)
	drift := clock.Allowance(c.TTL)
	check(max(c.StopMargin, c.RenewEvery) < c.TTL && c.StopMargin+c.RenewEvery+drift < c.TTL, // the first part keeps the sum from overflowing
		"stop margin %v + renew every %v + drift %v must stay below ttl %v",
		c.StopMargin, c.RenewEvery, drift, c.TTL)
	if c.StopMargin > 0 && c.StopMargin < c.TTL {
		check(c.enough()+s.NodeTimeout+drift < c.TTL, "stop margin %v leaves no time to lead: a term starts with %v left of "+
			"its lease, and ttl %v less drift %v less node timeout %v is %v",
			c.StopMargin, c.enough(), c.TTL, drift, s.NodeTimeout, c.TTL-drift-s.NodeTimeout)
	}
	checkSpan := func(what string, d time.Duration) {
		check(d >= 0, "%s %v must not be negative", what, d)
		check(d <= 0 || d >= time.Millisecond, "%s %v is below 1ms: multiply it by a unit, as in %d*time.Second", what, d, d)
		check(d <= longest, "%s %v must be at most %v", what, d, longest)
	}
	checkSpan("drain timeout", c.DrainTimeout)
	checkSpan("cooldown", c.Cooldown)
	checkSpan("standby", c.Standby)
	if c.maxTenure != unset {
		checkSpan("max tenure", c.maxTenure)
		check(c.maxTenure-c.maxTenure/10 > c.TTL, "max tenure %v less a tenth must be above ttl %v", c.maxTenure, c.TTL)
	}
	for i, fn := range c.callbacks {
		check(fn != nil, "callback %d of %d is nil", i+1, len(c.callbacks))
	}
	return errors.Join(problems...)
}

// Settings are the effective settings of an Elector: its options, and the defaults for the rest.
type Settings struct {
	Identity     string
	TTL          time.Duration // of the lease
	RenewEvery   time.Duration
	StopMargin   time.Duration // from the end of a term's contexts until anybody else can lead
	DrainTimeout time.Duration // how long the lease is renewed for callbacks that have not returned
	Cooldown     time.Duration // how long a leader that gave up by itself does not campaign
	Standby      time.Duration // delay of the campaign, in which others may win
}

// Settings returns the effective settings of the Elector.
func (e *Elector) Settings() Settings { return e.config.Settings }
