package jobmachine

import (
	"hash/fnv"
	"strconv"
	"time"
)

// LateTolerance is how late a run may start without counting as caught up with. A graceful handover, or a call without a quorum, takes no
// longer.
const LateTolerance = 5 * time.Second

// early is how long before its tick a run is opened if no other run is under way. It makes up for the round trip and a late timer. No
// run starts before its tick.
const early = time.Millisecond

// Job has the settings of a job that the machine needs. It does not change: a job that is added again has a new Job.
type Job struct {
	Name        string
	Plan        string // normalized spec and zone
	Schedule    Schedule
	Overlap     Overlap
	CatchUp     CatchUp
	Jitter      time.Duration
	Timeout     time.Duration // stored with each run, for people; 0: none
	Tries       int           // attempts of a run: 1 and its retries
	Wait        time.Duration // pause before the first retry
	MaxWait     time.Duration // longest pause
	AtLeastOnce bool
	MaxDeaths   int // with AtLeastOnce, how many processes may end during a slot's run before it is not run again; 0: any number
}

// Pause returns the pause before the n-th retry, from 1.
func (j *Job) Pause(n int) time.Duration {
	wait := j.Wait
	for ; n > 1 && wait < j.MaxWait; n-- {
		wait *= 2
	}
	return min(wait, j.MaxWait)
}

// Schedule has the ticks of a job, in whole seconds.
type Schedule interface {
	// Next returns the first tick after an instant, or the zero time if there is none.
	Next(after time.Time) time.Time
	// Count returns the number of ticks after one instant and up to a later one. It may not take longer for many ticks.
	Count(after, upTo time.Time) int
	// Reading returns what the clock of the zone shows at an instant, as a time in UTC. It stands still while the clock repeats local
	// times. It is the zero time if the ticks do not follow that clock.
	Reading(at time.Time) time.Time
}

// Overlap says what happens to a tick that comes while a run of the job is under way.
type Overlap int

// The policies; see package scheduler.
const (
	Skip Overlap = iota
	Queue
	Replace
	Allow
)

// CatchUp says which late ticks in the window run: all of them, or only the newest.
type CatchUp struct {
	All    bool
	Window time.Duration
}

// Key returns the idempotency key of a slot, which is the same on every replica and in every attempt.
func Key(job string, at time.Time, manual bool) string {
	if manual {
		return job + "@m" + strconv.FormatInt(at.UnixMicro(), 10)
	}
	return job + "@" + strconv.FormatInt(at.UnixMilli(), 10)
}

// StartOf returns when a tick's run begins: up to the jitter after the tick, and before the next tick.
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
	_, _ = h.Write([]byte(Key(j.Name, tick, false))) // never fails
	return tick.Add(time.Duration(h.Sum64() % uint64(most)))
}
