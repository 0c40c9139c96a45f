package scheduler

import (
	"context"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// TermRecord is what the nodes keep of a term of a leader with jobs.
type TermRecord struct {
	Token   uint64
	Replica string    // its identity in the election
	Since   time.Time // by the nodes' clock
}

// Terms tells of the newest terms of this election, 100 at most, the newest first, as a quorum of nodes knows them.
// This process need not lead. A term that ended within moments may be missing.
func (s *Scheduler) Terms(ctx context.Context) ([]TermRecord, error) {
	found, err := s.register.Terms(ctx)
	if err != nil {
		return nil, publicError("terms of", s.elector.Name(), err)
	}
	all := make([]TermRecord, len(found))
	for i, t := range found {
		all[i] = TermRecord{Token: t.Token, Replica: t.By, Since: t.Since}
	}
	return all, nil
}

// note has the nodes keep that the term has begun. For people alone: where it fails, the next look tries again. A
// leader without jobs may lack the rights.
func (l *loop) note() {
	l.mu.Lock()
	jobs := len(l.entries)
	l.mu.Unlock()
	if l.noted || jobs == 0 {
		return
	}
	l.noted = l.s.register.NoteTerm(l.draining, register.Term{
		Token: l.term.Token(), By: l.s.elector.Identity(), Since: l.began,
	}) == nil
}
