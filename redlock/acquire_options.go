package redlock

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// AcquireOption changes one acquisition.
type AcquireOption func(*request)

// request is what one acquisition asks for.
type request struct {
	name    string
	ttl     time.Duration
	text    string
	textOf  func() string // if not nil: of each attempt
	extend  *Extension
	told    func(took time.Duration, err error)
	yield   time.Duration
	backoff retry.Backoff // after an attempt that did not find the holder
}

// WithLeaseTTL sets this lease's TTL, from 100 ms to the Locker's MaxTTL.
func WithLeaseTTL(d time.Duration) AcquireOption { return func(r *request) { r.ttl = d } }

// WithValue sets a text that is stored with the lock and shown by [Locker.Holder]: who holds it,
// for people. Any bytes, at most 4096.
func WithValue(text string) AcquireOption { return func(r *request) { r.text = text } }

// WithValueFunc is [WithValue] with a text that is made for each attempt: so it can say since when the lock is held. fn must
// not block, and what is longer than 4096 bytes is cut off.
func WithValueFunc(fn func() string) AcquireOption { return func(r *request) { r.textOf = fn } }

// valueText is the text of an attempt that begins now.
func (r *request) valueText() string {
	if r.textOf == nil {
		return r.text
	}
	text := r.textOf()
	return text[:min(len(text), maxText)]
}

// WithAutoExtend has the lease extended in the background until it is released or lost.
func WithAutoExtend(e Extension) AcquireOption { return func(r *request) { r.extend = &e } }

// WithAttempts has fn told of each attempt: how long it took, and why it failed, nil if it did not. So a
// caller of [Locker.Acquire] sees what it waits for. fn must not block.
func WithAttempts(fn func(took time.Duration, err error)) AcquireOption {
	return func(r *request) { r.told = fn }
}

// WithYield has [Locker.Acquire] let others go first: it asks so long after it might have, when it begins
// and each time the lock becomes free. Too short: it wins against others who are slower by that much. Too
// long: nobody has the lock meanwhile, if there is nobody else.
func WithYield(d time.Duration) AcquireOption { return func(r *request) { r.yield = d } }

// WithBackoff sets the random pause of [Locker.Acquire] after an attempt that did not find the holder:
// from shortest, doubling with each in a row, up to longest; 5 ms and TTL/20, at least 50 ms, if not set.
// Too short: load on nodes that are in trouble already. Too long: that much later after an outage.
func WithBackoff(shortest, longest time.Duration) AcquireOption {
	return func(r *request) { r.backoff = retry.Backoff{Min: shortest, Max: longest} }
}

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
	// Told, if not nil, is told of each extension: after how many attempts and what time, and why it
	// failed; nil if it did not. Where the lease is lost by it, it is told before the lease ends. It must not block.
	Told func(attempts int, took time.Duration, err error)
}

const maxText = 4096

// tell says how an attempt went.
func (r request) tell(began time.Time, err error) {
	if r.told != nil {
		r.told(time.Since(began), err)
	}
}

// tellEnd says how the last attempt went. If who is told panics, nobody gets the lease: it runs out.
func (r request) tellEnd(began time.Time, lease *Lease, err error) {
	told := false
	defer func() {
		if !told && lease != nil {
			lease.Abandon()
		}
	}()
	r.tell(began, err)
	told = true
}

func (l *Locker) newRequest(lock string, opts []AcquireOption) (request, problems) {
	r := request{name: lock, ttl: l.settings.TTL}
	for _, opt := range opts {
		opt(&r)
	}
	var found problems
	if err := name.Check("lock name", lock); err != nil {
		found.add("%w", err)
	}
	if r.ttl < MinTTL || r.ttl > l.settings.MaxTTL {
		found.add("lease ttl %v must be within %v and max ttl %v", r.ttl, MinTTL, l.settings.MaxTTL)
	}
	if len(r.text) > maxText {
		found.add("value has %d bytes, it may have %d", len(r.text), maxText)
	}
	if r.backoff == (retry.Backoff{}) {
		r.backoff = retry.Backoff{Min: 5 * time.Millisecond, Max: max(r.ttl/20, 50*time.Millisecond)}
	}
	if r.backoff.Min <= 0 || r.backoff.Max < r.backoff.Min {
		found.add("backoff %v to %v must rise from above 0", r.backoff.Min, r.backoff.Max)
	}
	if r.yield < 0 {
		found.add("yield %v must not be negative", r.yield)
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
			found.add("extension every %v must be above node timeout %v", e.Every, l.settings.NodeTimeout)
		}
		if left := r.ttl - allowance(r.ttl, l.settings.Drift); e.Every >= left {
			found.add("extension every %v must be below lease ttl %v less drift: %v", e.Every, r.ttl, left)
		}
		if e.Attempts < 1 {
			found.add("extension attempts %d must be at least 1", e.Attempts)
		}
		if e.Max < 0 {
			found.add("extension max %d must not be negative", e.Max)
		}
	}
	return r, found
}
