package election

import (
	"context"
	"reflect"
	"runtime"
	"slices"
)

// callback is one registration. Elector.mu guards its fields.
type callback struct {
	fn   func(context.Context)
	work *work // its latest call; nil: none
}

// OnLeader registers fn, which the Elector calls once in every term, on a new goroutine. If this process leads now, that includes
// the current term. fn's context ends before anybody else can lead, when the term is asked to end or is lost. context.Cause tells
// why ([ErrStopped], [ErrResigned], [ErrLost], a [PanicError]). The lease is not released before fn has returned. A function that is
// registered twice is called twice.
//
// If fn returns early, the term goes on. If fn panics or calls runtime.Goexit, the term ends. stop removes the registration, and
// ends fn's context if fn is running. It does not wait, and may be called more than once. OnLeader panics if fn is nil.
func (e *Elector) OnLeader(fn func(ctx context.Context)) (stop func()) {
	if fn == nil {
		panic("election: OnLeader(nil)")
	}
	c := &callback{fn: fn}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callbacks = append(e.callbacks, c)
	if !isDone(e.hasWork) {
		close(e.hasWork)
	}
	if t := e.term; t != nil && t.canStart() {
		e.startLocked(c, t)
	}
	return func() { e.remove(c) }
}

// nameOf returns the name of a function, for people.
func nameOf(fn any) string { return runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name() }

func (e *Elector) remove(c *callback) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callbacks = slices.DeleteFunc(e.callbacks, func(other *callback) bool { return other == c })
	if c.work != nil {
		c.work.cancel()
	}
}

// begin publishes the term and starts all callbacks. Registration takes the same mutex, so each callback gets each later term
// exactly once. No callback gets a term that has ended, or was asked to end, before it has begun.
func (e *Elector) begin(t *Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
	if !t.canStart() {
		return
	}
	for _, c := range e.callbacks {
		e.startLocked(c, t)
	}
}

// startLocked runs a callback in t. t's contexts tell its goroutine to stop. drain and await wait for it through whenIdle.
func (e *Elector) startLocked(c *callback, t *Term) {
	ctx, w := e.newWork(t.work, t, nameOf(c.fn))
	c.work = w
	e.addLocked(w)
	go e.call(ctx, w, c.fn)
}
