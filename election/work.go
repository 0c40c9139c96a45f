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
	term     *Term
	callback *callback // nil for Term.Do
	name     string    // of the function, for people
	since    time.Time
	cancel   context.CancelFunc
	doing    *doing.List
}

// newWork returns new work and its context, which is derived from ctx.
func (e *Elector) newWork(ctx context.Context, t *Term, name string) (context.Context, *work) {
	w := &work{term: t, name: name, since: time.Now()}
	ctx, w.cancel = context.WithCancel(ctx)
	ctx, w.doing = doing.With(ctx, func(item doing.Item) { e.logReturned(t, item) })
	return ctx, w
}

func (e *Elector) addLocked(w *work) {
	if len(e.running) == 0 {
		e.idle = make(chan struct{})
	}
	e.running = append(e.running, w)
}

func (e *Elector) removeLocked(w *work) {
	e.running = slices.DeleteFunc(e.running, func(other *work) bool { return other == w })
	if len(e.running) == 0 {
		close(e.idle)
	}
}

var errGoexit = errors.New("runtime.Goexit was called")

// call calls a callback and records how it ends.
func (e *Elector) call(ctx context.Context, w *work, fn func(context.Context)) {
	returned := false
	defer func() {
		var p *PanicError
		if v := recover(); v != nil {
			p = &PanicError{Value: v, Stack: debug.Stack()}
		} else if !returned {
			p = &PanicError{Value: errGoexit, Stack: debug.Stack()}
		}
		e.returned(w, p)
	}()
	fn(ctx)
	returned = true
}

// panicked is a panic of a callback.
type panicked struct {
	term   *Term
	err    *PanicError
	logged bool // belongs to the goroutine of Run
}

// returned records that work has returned or panicked. Run logs a panic and passes it on later, because a logger that hangs or
// panics here would keep the lease or end the process. If Run is not running, returned does both itself.
func (e *Elector) returned(w *work, p *PanicError) {
	orphan := p != nil && !e.notePanic(w.term, p)
	if p != nil {
		w.term.end(p)
	}
	w.cancel()
	if _, named := w.doing.Items(); !named {
		e.logReturned(w.term, doing.Item{Name: w.name, Since: w.since})
	}
	e.mu.Lock()
	e.removeLocked(w)
	e.mu.Unlock()

	if orphan {
		e.logPanic(w.term, p)
		e.handlePanic(p)
	}
}

// notePanic leaves a panic to Run, or returns false if Run is not running. Call it before ending the term, because that makes Run
// check for panics.
func (e *Elector) notePanic(t *Term, p *PanicError) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run != nil {
		e.panics = append(e.panics, &panicked{term: t, err: p})
	}
	return e.run != nil
}

// handlePanic passes a panic to the handler, or panics with it if there is no handler.
func (e *Elector) handlePanic(p *PanicError) {
	if e.config.onPanic == nil {
		panic(p)
	}
	e.config.onPanic(p)
}

// stillRunning returns the work under way that matters. If a callback names parts of its work, only those matter.
func (e *Elector) stillRunning() []doing.Item {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []doing.Item
	for _, w := range e.running {
		items, named := w.doing.Items()
		if !named {
			items = []doing.Item{{Name: w.name, Since: w.since}}
		}
		all = append(all, items...)
	}
	return all
}

// undrained returns an ErrUndrained that names the work that has not returned.
func (e *Elector) undrained() error {
	t, asked := e.lastTerm(), ""
	if t != nil {
		asked = fmt.Sprintf(", %v after it was told to stop", time.Since(t.endedAt()).Round(time.Millisecond))
	}
	return fmt.Errorf("%w: %q: still running%s: %s", ErrUndrained, e.name, asked, strings.Join(e.awaited(t), ", "))
}

// awaited describes what the drain of a term waits for.
func (e *Elector) awaited(t *Term) []string {
	items := e.stillRunning()
	if len(items) == 0 {
		since := time.Now()
		if t != nil {
			since = t.endedAt()
		}
		items = []doing.Item{{Name: "unnamed work of a callback", Since: since}}
	}
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprintf("%s for %v", item.Name, time.Since(item.Since).Round(time.Millisecond)))
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
