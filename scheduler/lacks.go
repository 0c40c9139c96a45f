package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// lacks has, for each node, the jobs whose newest state the node has not stored, because it refused it or did not answer. They are
// written again when the node answers again. Until then a majority of the other nodes has them.
type lacks []lack

type lack struct {
	jobs      map[*entry]struct{}
	notBefore time.Time // when they may be written again
	times     int       // how often they were written again in a row
}

func (l lacks) add(node int, e *entry) {
	if l[node].jobs == nil {
		l[node].jobs = make(map[*entry]struct{})
	}
	l[node].jobs[e] = struct{}{}
}

// drop removes a job that was removed from the scheduler.
func (l lacks) drop(e *entry) {
	for i := range l {
		delete(l[i].jobs, e)
	}
}

// answered makes the loop rewrite the jobs that a node lacks once the node has answered. If the node answers but still
// does not store them, the writes become rarer.
func (l lacks) answered(node int, every time.Duration, write func(*entry)) {
	n := &l[node]
	switch {
	case len(n.jobs) == 0:
		n.times = 0
		return
	case time.Now().Before(n.notBefore):
		return
	}
	n.times++
	n.notBefore = time.Now().Add(retry.Backoff{Min: every, Max: max(every, maxPoll)}.After(n.times))
	for e := range n.jobs {
		write(e)
	}
	n.jobs = nil
}
