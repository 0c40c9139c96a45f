package election

import (
	"context"

	"github.com/redlockfx/redlockfx/internal/inside"
)

func init() {
	inside.HasWork = func(elector any) <-chan struct{} { return elector.(*Elector).hasWork }
	inside.Beside = func(elector any, where string, fn func(context.Context)) (first string) {
		return elector.(*Elector).runBeside(beside{where, fn})
	}
}

// beside is the function that runs beside each Run: see [inside.Beside].
type beside struct {
	where string // it was passed
	fn    func(context.Context)
}

// runBeside is [inside.Beside].
func (e *Elector) runBeside(b beside) (first string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.beside.fn != nil {
		return e.beside.where
	}
	e.beside = b
	if r := e.run; r != nil && r.alongside.Err() == nil {
		r.besides.Go(func() { b.fn(r.alongside) }) // endRunBesides waits for it
	}
	return ""
}

// endRunBesides ends what runs beside the loop, and waits for it.
func (e *Elector) endRunBesides(r *run) {
	e.mu.Lock()
	r.endBesides() // under the lock, so that nothing is started any more
	e.mu.Unlock()
	e.callApp("the hook Observed", r.besides.Wait)
}
