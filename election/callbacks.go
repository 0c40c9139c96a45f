package election

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// callback is one registration. Elector.mu guards its fields.
type callback struct {
	fn      func(context.Context) // nil when it is removed
	name    string                // of the function, for people
	cancel  context.CancelFunc    // of the invocation under way
	since   time.Time             // when that began
	running bool
}

// OnLeader has fn called once in every term, on a goroutine of its own, also in the current one if
// this process leads now. fn's context ends when the term is asked to end or is lost, before
// anybody else can lead; context.Cause tells why ([ErrStopped], [ErrResigned], [ErrLost], a
// [PanicError]). The lease is not released before fn has returned.
//
// If fn returns early, the term goes on. stop ends fn's context if it runs, and registers it for
// no further term; it does not wait, and may be called more than once.
func (e *Elector) OnLeader(fn func(ctx context.Context)) (stop func()) {
	c := &callback{fn: fn, name: runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callbacks = append(e.callbacks, c)
	if t := e.term; t != nil && t.work.Err() == nil && t.fit() {
		e.startLocked(c, t)
	}
	return func() { e.remove(c) }
}

func (e *Elector) remove(c *callback) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.callbacks, c); i >= 0 && !c.running {
		e.callbacks = slices.Delete(e.callbacks, i, i+1)
	}
	c.fn = nil // one that runs is dropped when it returns
	if c.cancel != nil {
		c.cancel()
	}
}

// begin publishes the term and starts all callbacks. Registration takes the same mutex, so each
// callback sees each term from its registration on exactly once; none sees one that is over, after
// a pause, before it has begun.
func (e *Elector) begin(t *Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
	if !t.fit() {
		return
	}
	for _, c := range e.callbacks {
		e.startLocked(c, t)
	}
}

// startLocked runs a callback in t. Its goroutine is told to stop by t's contexts, and waited for
// through idleLocked, in drain and in await.
func (e *Elector) startLocked(c *callback, t *Term) {
	ctx, cancel := context.WithCancel(t.work)
	fn := c.fn
	c.cancel, c.running, c.since = cancel, true, time.Now()
	go func() {
		defer func() {
			var p *PanicError
			if v := recover(); v != nil {
				p = &PanicError{Value: v, Stack: debug.Stack()}
				t.end(p)
			}
			cancel()
			e.returned(c, p)
		}()
		fn(ctx)
	}()
}

// returned takes note that a callback has, or panicked. Run passes a panic on when the time has
// come; without a Run there is nobody to do it.
func (e *Elector) returned(c *callback, p *PanicError) {
	e.mu.Lock()
	c.running, c.cancel = false, nil
	if c.fn == nil {
		if i := slices.Index(e.callbacks, c); i >= 0 {
			e.callbacks = slices.Delete(e.callbacks, i, i+1)
		}
	}
	if p != nil {
		e.panics = append(e.panics, p)
	}
	orphan := p != nil && e.run == nil
	if len(e.runningLocked()) == 0 {
		for _, done := range e.idle {
			done()
		}
		e.idle = nil
	}
	e.mu.Unlock()

	if orphan {
		panic(p)
	}
}

func (e *Elector) runningLocked() []*callback {
	var running []*callback
	for _, c := range e.callbacks {
		if c.running {
			running = append(running, c)
		}
	}
	return running
}

// idleLocked returns a context that is done when no callback is running.
func (e *Elector) idleLocked() context.Context {
	idle, done := context.WithCancel(context.Background())
	if len(e.runningLocked()) == 0 {
		done()
	} else {
		e.idle = append(e.idle, done)
	}
	return idle
}

// undrained is the error that says which callbacks have not returned.
func (e *Elector) undrained() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var names []string
	for _, c := range e.runningLocked() {
		names = append(names, fmt.Sprintf("%s for %v", c.name, time.Since(c.since).Round(time.Millisecond)))
	}
	return fmt.Errorf("%w: %q: %d callbacks still running: %s",
		ErrUndrained, e.name, len(names), strings.Join(names, ", "))
}

// Callbacks returns how many callbacks are registered. A Scheduler with jobs is one of them.
func (e *Elector) Callbacks() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, c := range e.callbacks {
		if c.fn != nil {
			n++
		}
	}
	return n
}
