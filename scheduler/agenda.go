package scheduler

import (
	"container/heap"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// entry is a job in a term. The loop's goroutine owns it.
type entry struct {
	job     *job
	machine jobmachine.Machine
	at      jobstore.At // place of the last stored state in the order of writes
	wake    time.Time   // when there is something to do, by the nodes' clock
	index   int         // in the agenda; -1: not there
	inLine  *line       // the line in which it waits for a write that no tick waits for; nil: none
}

// agenda has the jobs for which there will be something to do, the earliest first.
type agenda []*entry

// put moves an entry to its place, or takes it out if wake is zero: there is nothing to do for it.
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

// clear takes out all entries.
func (a *agenda) clear() {
	for _, e := range *a {
		e.index = -1
	}
	*a = nil
}

// next returns the entry for which there is something to do first, if that is due.
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

// line has the jobs that wait for a write that no tick waits for, in the order in which they came.
type line struct{ entries []*entry }

func (l *line) push(e *entry) {
	e.inLine = l
	l.entries = append(l.entries, e)
}

// clear has no entry stand in the line any more.
func (l *line) clear() {
	for l.pop() != nil {
	}
}

// pop returns the first entry that still stands in the line; nil: there is none.
func (l *line) pop() *entry {
	for len(l.entries) > 0 {
		e := l.entries[0]
		l.entries[0] = nil
		l.entries = l.entries[1:]
		if e.inLine == l {
			e.inLine = nil
			return e
		}
	}
	l.entries = nil
	return nil
}
