package scheduler

import (
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/register"
)

// promise has the nodes promise the term's token for the jobs of which they have not.
func (l *loop) promise(now time.Time) {
	l.mu.Lock()
	l.unsure = false
	var entries []*entry
	for _, e := range l.entries {
		if !e.known {
			l.unsure = true
			entries = append(entries, e)
		}
	}
	l.mu.Unlock()
	l.promiseFor(entries, now)
}

func (l *loop) promiseFor(entries []*entry, now time.Time) {
	if len(entries) == 0 {
		return
	}
	plans := make([]register.Plan, len(entries))
	for i, e := range entries {
		plans[i] = e.job.plan
	}
	promised := l.s.register.Promise(l.draining, l.term.Token(), now, plans)

	var problem error
	var fenced uint64
	changed := make(map[*job]string) // with the plan of another build
	l.mu.Lock()
	for i, p := range promised {
		if p.Err != nil {
			fenced = max(fenced, p.Fenced)
			if !entries[i].known {
				problem = p.Err
			}
			continue
		}
		if j := entries[i].job; p.Before != "" && p.Before != j.plan.Text && p.Before != j.other {
			j.other, changed[j] = p.Before, p.Before
		}
		entries[i].promised(p.State, l.term.Token())
		l.promisedLocked(p.Memories)
		if l.entries[p.Job] == entries[i] {
			l.agenda.put(entries[i])
		}
	}
	l.unsure, l.promised = false, 0
	for _, e := range l.entries {
		l.unsure = l.unsure || !e.known // those for which a claim has found so meanwhile, too
	}
	l.mu.Unlock()
	for j, before := range changed {
		l.logChange(j, before)
	}
	switch {
	case fenced > 0:
		l.fenced(fenced)
	case problem != nil && l.draining.Err() == nil:
		l.log.Warn("no ticks yet: too few nodes know the token of this leader, asking again", zap.Error(problem))
	}
}

// promisedLocked notes in which memories the nodes have promised. Where a node has promised in one before that it
// has lost since, what it promised for other jobs does not count: everything is promised anew.
func (l *loop) promisedLocked(memories map[int]string) {
	for node, memory := range memories {
		if before, ok := l.promises[node]; ok && before != memory {
			l.forgetLocked()
		}
		l.promises[node] = memory
	}
}

// forgetLocked has the nodes promise everything anew.
func (l *loop) forgetLocked() {
	for _, e := range l.entries {
		e.known = false
		l.agenda.remove(e)
	}
	clear(l.promises)
	l.unsure = true
}

// promisedAllLocked is which nodes have promised for all jobs of which any have. Where there are very many jobs, and
// nothing has changed, looking at each of them would be most of what an idle leader does.
func (l *loop) promisedAllLocked() nodeSet {
	if l.promised == 0 {
		l.promised = ^nodeSet(0)
		for _, e := range l.entries {
			if e.known {
				l.promised &= e.nodes
			}
		}
	}
	return l.promised
}

// complete has nodes that are there promise what they have not: a node that does votes for no tick of the next two
// seconds, and by then another one may be away. Ticks do not wait for it.
func (l *loop) complete(there map[int]string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lacks := func(s nodeSet) bool {
		for node := range there {
			if !s.has(node) {
				return true
			}
		}
		return false
	}
	if l.completing || !lacks(l.promisedAllLocked()) {
		return
	}
	var entries []*entry
	for _, e := range l.entries {
		if e.known && lacks(e.nodes) {
			entries = append(entries, e)
		}
	}
	l.completing = true
	l.work.Go(func() { // bounded by a few node timeouts; lead waits for it
		l.promiseFor(entries, now)
		l.mu.Lock()
		l.completing = false
		l.mu.Unlock()
	})
}
