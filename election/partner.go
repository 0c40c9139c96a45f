package election

import (
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/redlock"
)

func init() {
	inside.CheckElection = func(settings any, name string, opts any) error {
		s := settings.(redlock.Settings)
		return newConfig(s, opts.([]Option)).problems(name, s)
	}
	inside.HasWork = func(elector any) <-chan struct{} { return elector.(*Elector).hasWork }
	inside.Join = func(elector any, p inside.Partner) (first string) { return elector.(*Elector).join(p) }
}

// join is [inside.Join].
func (e *Elector) join(p inside.Partner) (first string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.partner.Beside != nil {
		return e.partner.Where
	}
	e.partner = p
	if r := e.run; r != nil && r.alongside.Err() == nil {
		r.besides.Go(func() { p.Beside(r.alongside) }) // Run waits for it
	}
	return ""
}
