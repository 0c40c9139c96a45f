package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// lacks has, for each node, the jobs whose newest state it has not stored although it serves the leader, or could not be reached.
// They are written again when the node is heard again; until then a majority has them without it.
type lacks []lack

type lack struct {
	jobs  map[*entry]struct{}
	again time.Time // when they are written again, at the earliest
	times int       // that they were, in a row
}

func (l lacks) add(node int, e *entry) {
	if l[node].jobs == nil {
		l[node].jobs = make(map[*entry]struct{})
	}
	l[node].jobs[e] = struct{}{}
}

// drop takes out a job that was removed.
func (l lacks) drop(e *entry) {
	for i := range l {
		delete(l[i].jobs, e)
	}
}

// heard has the jobs that a node lacks written again: more and more rarely, if it answers and still does not store them.
func (l lacks) heard(node int, every time.Duration, write func(*entry)) {
	n := &l[node]
	switch {
	case len(n.jobs) == 0:
		n.times = 0
		return
	case time.Now().Before(n.again):
		return
	}
	n.times++
	n.again = time.Now().Add(retry.Backoff{Min: every, Max: max(every, maxPoll)}.After(n.times))
	for e := range n.jobs {
		write(e)
	}
	n.jobs = nil
}
