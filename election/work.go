package election

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/doing"
)

// work is one call of a callback or of Term.Do. It must return before the lease of the term is released. It does not change once it
// has begun.
type work struct {
	term   *Term
	cancel context.CancelFunc
	doing  *doing.List
}

// newWork returns new work and its context, which is derived from ctx. name is that of the function, for people.
func (e *Elector) newWork(ctx context.Context, t *Term, name string) (context.Context, *work) {
	w := &work{term: t}
	ctx, w.cancel = context.WithCancel(t.inside(ctx, "the callback", name))
	ctx, w.doing = doing.With(ctx, name, func(item doing.Item) { e.logReturned(t, item) })
	return ctx, w
}

func (e *Elector) addLocked(w *work) {
	if len(e.running) == 0 {
		e.idle = make(chan struct{})
	}
	e.running = append(e.running, w)
}

// call calls a callback. The recovery comes before the work counts as returned, so that Run sees each panic.
func (e *Elector) call(ctx context.Context, w *work, fn func(context.Context)) {
	defer e.returned(w)
	returned := false
	defer func() {
		v := recover()
		if v == nil && !returned {
			v = errors.New("runtime.Goexit was called")
		}
		if v != nil {
			e.panicked(w.term, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	fn(ctx)
	returned = true
}

// panicked ends the term of a callback that has panicked, and passes the panic to the handler. Without a handler, it leaves the
// panic to Run, or panics itself if Run has ended.
func (e *Elector) panicked(t *Term, p *PanicError) {
	t.end(p)
	e.log.Error("a callback panicked", zap.Uint64("term", t.Token()), zap.Error(p), zap.ByteString("callback_stack", p.Stack))
	if e.config.onPanic != nil {
		e.config.onPanic(p)
		return
	}
	e.mu.Lock()
	r := e.run
	if r != nil {
		r.panicked.CompareAndSwap(nil, p)
	}
	e.mu.Unlock()
	if r == nil {
		panic(p)
	}
	r.stop(p)
}

// returned records that work has returned or panicked.
func (e *Elector) returned(w *work) {
	w.cancel()
	w.doing.Returned()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = slices.DeleteFunc(e.running, func(other *work) bool { return other == w })
	if len(e.running) == 0 {
		close(e.idle)
	}
}

// stillRunning returns the work under way that matters. If a callback names parts of its work, only those matter.
func (e *Elector) stillRunning() []doing.Item {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []doing.Item
	for _, w := range e.running {
		all = append(all, w.doing.Items()...)
	}
	return all
}

// undrained returns an ErrUndrained that names the work that has not returned.
func (e *Elector) undrained() error {
	return fmt.Errorf("%w: %q: still running: %s", ErrUndrained, e.name, strings.Join(e.awaited(), ", "))
}

// awaited describes what a drain waits for.
func (e *Elector) awaited() []string {
	var all []string
	for _, item := range e.stillRunning() {
		all = append(all, fmt.Sprintf("%s for %v", item.Name, time.Since(item.Since).Round(time.Millisecond)))
	}
	if len(all) == 0 {
		return []string{"the records of work that has returned"}
	}
	return all
}

// logReturned logs that work has returned after its lease was over.
func (e *Elector) logReturned(t *Term, item doing.Item) {
	if t.trusted.Err() == nil { // not late, the usual case
		return
	}
	if over := time.Since(t.lease.Deadline()); over > 0 {
		e.log.Info("late work has returned", zap.Uint64("term", t.Token()), zap.String("work", item.Name),
			zap.Duration("after_the_lease", over), zap.Duration("ran", time.Since(item.Since)))
	}
}
