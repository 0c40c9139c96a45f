package scheduler

import (
	"container/heap"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
)

// entry is a job in a term. The loop's goroutine owns it.
type entry struct {
	job     *job
	machine jobmachine.Machine
	older   bool      // it is not written under the present ballot
	swept   time.Time // of a source, when the last sweep began; zero: it has not been loaded in this term
	wake    time.Time // when the job needs action, by the nodes' clock; before it is read from the nodes, its next tick
	index   int       // in the agenda; -1: not there
	queue   *queue    // the queue in which it waits; nil: none
}

// agenda is a heap of the jobs that need action at a known instant, the earliest first.
type agenda []*entry

// put moves an entry to its place in the agenda, or removes it if wake is zero.
func (a *agenda) put(e *entry, wake time.Time) {
	e.wake = wake
	switch {
	case wake.IsZero() && e.index >= 0:
		heap.Remove(a, e.index)
	case wake.IsZero():
	case e.index >= 0:
		heap.Fix(a, e.index)
	default:
		heap.Push(a, e)
	}
}

// clear removes all entries.
func (a *agenda) clear() {
	for _, e := range *a {
		e.index = -1
	}
	*a = nil
}

// next returns the first entry if it is due, and otherwise nil. The entry stays in the agenda.
func (a *agenda) next(now time.Time) *entry {
	if len(*a) == 0 || (*a)[0].wake.After(now) {
		return nil
	}
	return (*a)[0]
}

// For container/heap.

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].wake.Before(a[j].wake) }

func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

func (a *agenda) Push(x any) {
	e := x.(*entry)
	e.index = len(*a)
	*a = append(*a, e)
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	e.index = -1
	return e
}

// queue has jobs that wait to be looked at or written, in the order in which they came. An entry whose queue field is no longer
// this queue has left it.
type queue struct{ entries []*entry }

func (q *queue) push(e *entry) {
	e.queue = q
	q.entries = append(q.entries, e)
}

func (q *queue) clear() {
	for q.pop() != nil {
	}
}

// pop removes and returns the first entry, or nil if there is none. It drops entries that have left the queue.
func (q *queue) pop() *entry {
	for len(q.entries) > 0 {
		e := q.entries[0]
		q.entries[0] = nil
		q.entries = q.entries[1:]
		if e.queue == q {
			e.queue = nil
			return e
		}
	}
	q.entries = nil
	return nil
}
