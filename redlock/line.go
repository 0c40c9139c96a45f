package redlock

import (
	"context"
	"fmt"
)

// line is where those of one process wait who want the same lock: one of them contends for it on
// the nodes, the others wait for their turn here, which costs the nodes nothing.
type line struct {
	turn chan struct{} // holds one: whoever takes it may contend

	// Guarded by Locker.mu.
	waiting int    // callers that use the line
	last    error  // outcome of the latest attempt
	winner  string // contender of the one who won it last
}

// place is a turn to contend.
type place struct {
	locker *Locker
	name   string
	line   *line
	winner string // the contender of this process that has just won, if one has
}

// enter waits for the caller's turn to contend for the lock.
func (l *Locker) enter(ctx context.Context, name string) (*place, error) {
	l.mu.Lock()
	at := l.lines[name]
	if at == nil {
		at = &line{turn: make(chan struct{}, 1), last: ErrHeld}
		at.turn <- struct{}{}
		l.lines[name] = at
	}
	at.waiting++
	l.mu.Unlock()
	p := &place{locker: l, name: name, line: at}

	var err error
	select {
	case <-at.turn:
		l.mu.Lock()
		defer l.mu.Unlock()
		p.winner = at.winner
		return p, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-l.open.Done():
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.goLocked()
	return nil, fmt.Errorf("redlock: acquire %q: %w: behind others of this process, of whom the first "+
		"was last told: %w", name, err, at.last)
}

// leave gives the turn to the next one, and says how it went.
func (p *place) leave(winner string, err error) {
	p.locker.mu.Lock()
	p.line.winner = winner
	if err != nil {
		p.line.last = err
	}
	p.goLocked()
	p.locker.mu.Unlock()
	p.line.turn <- struct{}{}
}

func (p *place) goLocked() {
	if p.line.waiting--; p.line.waiting == 0 {
		delete(p.locker.lines, p.name)
	}
}
