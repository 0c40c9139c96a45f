package scheduler

import (
	"container/heap"
	"slices"
	"sort"
	"time"
)

const (
	// maxSleep bounds how long a change of the wall clock stays unnoticed.
	maxSleep = 30 * time.Second

	// maxSkipped bounds the count of the ticks that one wake skips: a clock may be set years ahead.
	maxSkipped = 1000
)

// queue has the next tick of each job, the earliest first. It knows no clock but the instants it
// is given, and goes only forward through the ticks of a job whatever these are.
type queue []*entry

type entry struct {
	job  *job
	next time.Time
}

// due is a tick to run now, the newest of its job.
type due struct {
	pending
	skipped int // ticks before it that were due too, counted up to maxSkipped
}

// sync makes the queue one of the given jobs. Those it did not have tick from now on.
func (q *queue) sync(jobs map[string]*job, now time.Time) {
	known := make(map[*job]bool, len(*q))
	*q = slices.DeleteFunc(*q, func(e *entry) bool {
		known[e.job] = true
		return jobs[e.job.Name] != e.job
	})
	for _, j := range jobs {
		if known[j] {
			continue
		}
		if next := j.schedule.Next(now); !next.IsZero() {
			*q = append(*q, &entry{job: j, next: next})
		}
	}
	heap.Init(q)
}

// take takes the ticks that are due, one for each job.
func (q *queue) take(now time.Time) []due {
	var all []due
	for len(*q) > 0 && !(*q)[0].next.After(now) {
		e := (*q)[0]
		d := e.newest(now)
		all = append(all, d)
		if e.next = e.job.schedule.Next(d.tick); e.next.IsZero() {
			heap.Pop(q)
		} else {
			heap.Fix(q, 0)
		}
	}
	return all
}

// newest is the newest of the job's ticks that are due.
func (e *entry) newest(now time.Time) due {
	d := due{pending: pending{e.job, e.next}}
	after := func(t time.Time) (tick time.Time, isDue bool) {
		tick = e.job.schedule.Next(t)
		return tick, !tick.IsZero() && !tick.After(now)
	}
	for d.skipped < maxSkipped {
		tick, isDue := after(d.tick)
		if !isDue {
			return d
		}
		d.tick = tick
		d.skipped++
	}

	// Too many to walk through: search for the last second that has one that is due after it.
	from := d.tick
	n := sort.Search(int(now.Sub(from)/time.Second), func(i int) bool {
		_, isDue := after(from.Add(time.Duration(i) * time.Second))
		return !isDue
	})
	if n > 0 {
		d.tick, _ = after(from.Add(time.Duration(n-1) * time.Second))
	}
	return d
}

// wait is how long to sleep.
func (q queue) wait(now time.Time) time.Duration {
	if len(q) == 0 {
		return maxSleep
	}
	return min(q[0].next.Sub(now), maxSleep)
}

// For container/heap.

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)        { *q = append(*q, e.(*entry)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = slices.Delete(*q, last, last+1)
	return e
}
