package jobmachine

import (
	"hash/fnv"
	"strconv"
	"time"
)

// Fresh is how late a run may start without counting as caught up with: a graceful handover, or a round without a quorum,
// takes no longer.
const Fresh = 5 * time.Second

// early is how long before its tick a run is opened if none is under way: one round trip, and the lateness of a timer. No run
// starts before its tick.
const early = time.Millisecond

// triggerExpires is how long a trigger waits for somebody who can run it.
const triggerExpires = time.Hour

// Job is what the machine needs to know of a job. It does not change; a job that is added again is another one.
type Job struct {
	Name        string
	Plan        string // normalized spec and zone
	Schedule    Schedule
	Overlap     Overlap
	CatchUp     CatchUp
	Jitter      time.Duration
	Tries       int // attempts of a run: 1 and its retries
	AtLeastOnce bool
}

// Schedule returns the first tick after an instant, in whole seconds; the zero time if there is none.
type Schedule interface{ Next(time.Time) time.Time }

// Overlap is what happens to a tick that comes while a run of the job is under way.
type Overlap int

// The policies; see package scheduler.
const (
	Skip Overlap = iota
	Queue
	Replace
	Allow
)

// CatchUp is what happens to ticks that are late: All of those in the window are run, or the newest.
type CatchUp struct {
	All    bool
	Window time.Duration
}

// Key is the idempotency key of a slot: the same on every replica and in every attempt.
func Key(job string, at time.Time, manual bool) string {
	if manual {
		return job + "@m" + strconv.FormatInt(at.UnixMicro(), 10)
	}
	return job + "@" + strconv.FormatInt(at.UnixMilli(), 10)
}

// StartOf returns when a tick's run begins: jitter after the tick, and before the next one.
func (j *Job) StartOf(tick time.Time) time.Time {
	if j.Jitter == 0 || tick.IsZero() {
		return tick
	}
	most := j.Jitter
	if next := j.Schedule.Next(tick); !next.IsZero() {
		most = min(most, next.Sub(tick)-time.Millisecond)
	}
	if most <= 0 {
		return tick
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(Key(j.Name, tick, false))) // it cannot fail
	return tick.Add(time.Duration(h.Sum64() % uint64(most)))
}
