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
	name string // of the function, for people
	work *work  // of its latest call; nil: none
}

// OnLeader has fn called once in every term, on a goroutine of its own, also in the current one if this process leads now.
// fn's context ends when the term is asked to end or is lost, before anybody else can lead; context.Cause tells why
// ([ErrStopped], [ErrResigned], [ErrLost], a [PanicError]). The lease is not released before fn has returned. A function that
// is registered twice is called twice.
//
// If fn returns early, the term goes on; if it panics or calls runtime.Goexit, the term ends. stop ends fn's context if it
// runs, and registers it for no further term; it does not wait, and may be called more than once. OnLeader panics if fn is
// nil.
func (e *Elector) OnLeader(fn func(ctx context.Context)) (stop func()) {
	if fn == nil {
		panic("election: OnLeader(nil)")
	}
	c := &callback{fn: fn, name: nameOf(fn)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callbacks = append(e.callbacks, c)
	e.changedLocked()
	if t := e.term; t != nil && t.canStart() {
		e.startLocked(c, t)
	}
	return func() { e.remove(c) }
}

func nameOf(fn any) string { return runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name() }

func (e *Elector) remove(c *callback) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callbacks = slices.DeleteFunc(e.callbacks, func(other *callback) bool { return other == c })
	if c.work != nil {
		c.work.cancel()
	}
	e.changedLocked()
}

// begin publishes the term and starts all callbacks. Registration takes the same mutex, so each callback sees each term from
// its registration on exactly once; none sees one that has been asked to end, or is over, before it has begun.
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

// startLocked runs a callback in t. Its goroutine is told to stop by t's contexts, and waited for through waitIdle, in drain
// and in await.
func (e *Elector) startLocked(c *callback, t *Term) {
	ctx, w := e.newWork(t.work, t, c.name)
	c.work, w.callback = w, c
	e.addLocked(w)
	go e.call(ctx, w, c.fn)
}
