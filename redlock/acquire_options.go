package redlock

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// AcquireOption changes one acquisition.
type AcquireOption func(*request)

// request holds the options of one acquisition.
type request struct {
	name   string
	ttl    time.Duration
	text   string
	extend *Extension

	// See [inside.Campaign]; only backoff is always set.
	textOf    func() string
	onAttempt func(took time.Duration, err error)
	headStart time.Duration
	backoff   retry.Backoff
}

// WithLeaseTTL sets this lease's TTL, from 100 ms to the Locker's MaxTTL. Every extension lasts as long again. A shorter
// one would cut the lease on nodes whose answers are lost, while its holder still relies on the longer one; and a longer
// hold needs only more extensions. A lease below 100 ms would spend its time on round trips and pauses.
func WithLeaseTTL(d time.Duration) AcquireOption { return func(r *request) { r.ttl = d } }

// WithValue sets a text that is stored with the lock and returned by [Locker.Holder], to show people who holds it. It
// may be any bytes, at most 4096.
func WithValue(text string) AcquireOption { return func(r *request) { r.text = text } }

// valueText returns the text for an attempt that starts now.
func (r *request) valueText() string {
	if r.textOf == nil {
		return r.text
	}
	text := r.textOf()
	return text[:min(len(text), maxText)]
}

// WithAutoExtend has the lease extended in the background until it is released or lost.
func WithAutoExtend(e Extension) AcquireOption { return func(r *request) { r.extend = &e } }

// Extension says how a lease is extended in the background. The zero value is usable.
type Extension struct {
	// Every is the time from one extension to the next; TTL/3 if zero. Too long: fewer chances
	// before the lease runs out. Too short: needless commands.
	Every time.Duration
	// Attempts bounds the attempts of one extension, which share the time left of the lease; 3 if
	// zero.
	Attempts int
	// Extended, if not nil, is called after each extension with the number of attempts, their duration and the error, nil
	// if it succeeded. If the extension lost the lease, Extended is called before the lease ends. The calls for one lease
	// follow each other: the lease is not extended again before Extended has returned. So it must not block.
	Extended func(attempts int, took time.Duration, err error)
}

const maxText = 4096

// report reports the outcome of an attempt to onAttempt. If that panics, the caller never gets the lease, so the lease is
// abandoned.
func (r *request) report(began time.Time, lease *Lease, err error) {
	if r.onAttempt == nil {
		return
	}
	reported := false
	defer func() {
		if !reported && lease != nil {
			lease.Abandon()
		}
	}()
	r.onAttempt(time.Since(began), err)
	reported = true
}

func (s *Settings) newRequest(lock string, opts []AcquireOption) (request, problems) {
	r := request{name: lock, ttl: s.TTL}
	var found problems
	for i, opt := range opts {
		if opt == nil {
			found.add("option %d of %d is nil", i+1, len(opts))
			continue
		}
		opt(&r)
	}
	if err := name.Check("lock name", lock); err != nil {
		found.add("%w", err)
	}
	if r.ttl < MinTTL || r.ttl > s.MaxTTL {
		found.add("lease ttl %v must be within %v and max ttl %v", r.ttl, MinTTL, s.MaxTTL)
	}
	if len(r.text) > maxText {
		found.add("value has %d bytes, it may have %d", len(r.text), maxText)
	}
	if r.backoff == (retry.Backoff{}) {
		r.backoff = retry.Backoff{Min: 5 * time.Millisecond, Max: max(r.ttl/20, 50*time.Millisecond)}
	}
	if r.extend != nil {
		e := *r.extend // the caller may share its value
		if e.Every == 0 {
			e.Every = r.ttl / 3
		}
		if e.Attempts == 0 {
			e.Attempts = 3
		}
		r.extend = &e
		if e.Every <= s.NodeTimeout {
			found.add("extension every %v must be above node timeout %v", e.Every, s.NodeTimeout)
		}
		if left := r.ttl - clock.Allowance(r.ttl); e.Every >= left {
			found.add("extension every %v must be below lease ttl %v less drift: %v", e.Every, r.ttl, left)
		}
		if e.Attempts < 1 {
			found.add("extension attempts %d must be at least 1", e.Attempts)
		}
	}
	return r, found
}

// value identifies the holder of a lock in its record: the acquisition, the attempt, and the user's own text, so that
// redis-cli shows a person who holds the lock. A lock is ours only if the whole encoded string is equal.
type value struct {
	contender string // new for every acquisition, so that it never matches an earlier hold
	attempt   int    // of this acquisition, from 1
	text      string // WithValue
}

func newContenderID() string { return rand.Text() }

func (v value) String() string {
	return v.contender + ":" + strconv.Itoa(v.attempt) + ":" + v.text
}

// parseValue parses a value. If the value is not ours, it returns an error that says so: guessing could break another
// program's lock.
func parseValue(s string) (value, error) {
	contender, rest, ok1 := strings.Cut(s, ":")
	number, text, ok2 := strings.Cut(rest, ":")
	attempt, err := strconv.Atoi(number)
	if !ok1 || !ok2 || err != nil {
		return value{}, recordError(fmt.Sprintf("the lock is held by %.40q, which this library did not write", s))
	}
	return value{contender: contender, attempt: attempt, text: text}, nil
}
