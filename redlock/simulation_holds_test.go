package redlock_test

import (
	"context"
	"errors"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// hold is a lock that a process asked for.
type hold struct {
	name  string
	by    *process
	lease *redlock.Lease // once it was granted

	// Guarded by world.mu.
	state  holdState
	counts bool // abandoned or lost, but nobody may follow before its deadline
}

type holdState int

const (
	asked holdState = iota
	held
	failed // never granted
	over   // released
	left   // abandoned, or its process has crashed
)

// validLocked reports whether nobody else may have the lock.
func (h *hold) validLocked() bool {
	switch h.state {
	case held:
		return h.lease.Valid()
	case left:
		return h.counts && time.Now().Before(h.lease.Deadline())
	}
	return false
}

func (w *world) ask(p *process, name string) *hold {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(name, "asks")
	h := &hold{name: name, by: p}
	if p.isDead() {
		h.state = left
	}
	w.holds[name] = h
	return h
}

func (w *world) fail(h *hold, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(h.name, "fails: %v", err)
	if h.state == asked {
		h.state = failed
	}
}

func (w *world) take(h *hold, lease *redlock.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(h.name, "has token %d until %v", lease.Token(), lease.Deadline().Sub(w.start))
	h.lease = lease
	if h.state == left {
		h.counts = true
	} else {
		h.state = held
	}
	if lease.Token() <= w.token {
		w.breakLocked("P3", "%s has token %d after token %d", h.name, lease.Token(), w.token)
	}
	w.token = lease.Token()
	w.replay.Granted("x", h.name, lease.Token())
	w.won++
	w.checkLocked()
}

// giveUp is called before a release.
func (w *world) giveUp(h *hold, abandon bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.state == left {
		return
	}
	h.state = over
	if abandon {
		h.lease.Abandon()
		h.state, h.counts = left, errors.Is(context.Cause(h.lease.Context()), redlock.ErrReleased)
	}
	w.noteLocked(h.name, "gives up, abandons: %v", abandon)
}

// leave is called when a process has crashed. The leftovers it was removing stay.
func (w *world) leave(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.holds {
		if h.by != p || h.state == left {
			continue
		}
		h.counts = h.state == held && h.lease.Valid()
		h.state = left
	}
}

// checkLocked checks that there is one valid lease at most.
func (w *world) checkLocked() {
	var valid []*hold
	for _, h := range w.holds {
		if h.validLocked() {
			valid = append(valid, h)
		}
	}
	for i := 1; i < len(valid); i++ {
		a, b := valid[i-1], valid[i]
		w.breakLocked("P1", "%s has token %d until %v, and %s has token %d until %v",
			a.name, a.lease.Token(), a.lease.Deadline().Sub(w.start),
			b.name, b.lease.Token(), b.lease.Deadline().Sub(w.start))
	}
}
