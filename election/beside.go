package election

import (
	"context"

	"github.com/redlockfx/redlockfx/internal/inside"
)

func init() {
	inside.Beside = func(elector any, fn func(context.Context)) { elector.(*Elector).runBeside(fn) }
}

// runBeside is [inside.Beside].
func (e *Elector) runBeside(fn func(context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.besides = append(e.besides, fn)
	if r := e.run; r != nil && !done(r.alongside) {
		r.besides.Go(func() { fn(r.alongside) }) // endRunBesides waits for it
	}
}

// endRunBesides ends what runs beside the loop, and waits for it.
func (e *Elector) endRunBesides(r *run) {
	e.mu.Lock()
	r.endBesides() // under the lock, so that nothing is started any more
	e.mu.Unlock()
	r.besides.Wait()
}
