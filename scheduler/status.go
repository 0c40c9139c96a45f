package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/register"
)

// Status is what the nodes know of a job.
type Status struct {
	Job, Spec, Zone string    // those of the leader, or of the last one
	Next            time.Time // tick; zero if paused, or if there is none

	// Own is what this process has for the job where that is something else, as in a rolling deploy: a spec with
	// its zone, or "none"; empty where they are the same.
	Own string

	// Reason is why the newest tick that did not run did not, and ReasonTick which it was; empty if the newest
	// tick did.
	Reason     string
	ReasonTick time.Time

	Last, LastOK Record // the newest run, and the newest that was StateOK, of those that are kept
	Failures     int    // runs in a row, of those that are kept, that failed or were lost
	Missed       int    // ticks, in all
	Paused       bool
	Running      bool   // Last has no end
	Leader       string // identity; empty if nobody leads
}

// abreast is how many jobs are asked about at a time.
const abreast = 64

// Jobs tells of all jobs that any leader of this election has had within 400 days, by name, as a quorum of nodes
// knows them. This process need not lead. [Scheduler.History] has the records of one job.
func (s *Scheduler) Jobs(ctx context.Context) ([]Status, error) {
	names, err := s.register.Names(ctx)
	if err != nil {
		return nil, publicError("jobs of", s.elector.Name(), err)
	}
	leader, err := s.elector.Leader(ctx)
	if err != nil && !errors.Is(err, election.ErrNoLeader) {
		return nil, fmt.Errorf("scheduler: jobs: %w", err)
	}
	all := make([]Status, len(names))
	errs := make([]error, len(all))
	own := s.plans(names)
	slots := make(chan struct{}, abreast)
	var wg sync.WaitGroup
	for i := range all {
		all[i] = Status{Job: names[i], Leader: leader.ID}
		slots <- struct{}{}
		wg.Go(func() { // ends by the node timeout
			defer func() { <-slots }()
			var v register.View
			if v, errs[i] = s.register.Read(ctx, all[i].Job); errs[i] == nil {
				all[i].read(v, own[i])
			}
		})
	}
	wg.Wait()
	known := all[:0]
	for i, err := range errs {
		switch {
		case err == nil:
			known = append(known, all[i])
		case !errors.Is(err, register.ErrUnknown): // one that no leader has had for 400 days
			return nil, publicError("job", all[i].Job, err)
		}
	}
	return known, nil
}

// plans are this process's own of the jobs, empty where it has none.
func (s *Scheduler) plans(names []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	plans := make([]string, len(names))
	for i, name := range names {
		if j := s.jobs[name]; j != nil {
			plans[i] = j.plan.Text
		}
	}
	return plans
}

// History returns the newest records of a job, n at most of the 50 that are kept, the newest first, as a quorum
// of nodes knows them. [ErrUnknownJob]: no leader has ever had a job of that name.
func (s *Scheduler) History(ctx context.Context, job string, n int) ([]Record, error) {
	if err := name.Check("name", job); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	if n < 1 {
		return nil, fmt.Errorf("scheduler: history: %d records of %q asked for, it must be at least 1", n, job)
	}
	v, err := s.register.Read(ctx, job)
	if err != nil {
		return nil, publicError("history", job, err)
	}
	var all []Record
	for _, r := range v.Records[:min(n, len(v.Records))] {
		all = append(all, recordOf(job, r))
	}
	return all, nil
}

// read fills in what the nodes know; own is this process's plan, empty if it has no such job.
func (s *Status) read(v register.View, own string) {
	s.Zone, s.Spec = splitPlan(v.Plan)
	if own != v.Plan {
		s.Own = cmp.Or(own, "none")
	}
	s.Missed, s.Paused = v.Missed, v.Pause.On
	failing := true
	for _, r := range v.Records {
		record := recordOf(s.Job, r)
		switch record.State {
		case StateMissed, StateSkipped:
			if s.Last.ID == "" && s.Reason == "" {
				s.Reason, s.ReasonTick = record.Err, record.Tick
			}
			continue
		case StateLost, StateFailed:
			if failing {
				s.Failures++
			}
		case StateOK:
			failing = false
			if s.LastOK.ID == "" {
				s.LastOK = record
			}
		case StateRunning:
		}
		if s.Last.ID == "" {
			s.Last = record
		}
	}
	s.Running = s.Last.State == StateRunning
	if s.Reason == "" && s.Last.State == StateLost {
		s.Reason, s.ReasonTick = s.Last.Err, s.Last.Tick
	}
	s.due(v)
}

// due fills in the next tick, and why those did not run that have come since the mark.
func (s *Status) due(v register.View) {
	schedule, err := Parse(v.Plan, nil)
	if err != nil {
		s.Reason = err.Error() // another version had this spec
		return
	}
	now := time.UnixMicro(v.Time).UTC()
	floor := later(later(v.Mark, v.Since), v.Planned)
	if !s.Paused {
		if v.Pause.Version > 0 {
			floor = later(floor, v.Pause.At())
		}
		s.Next = schedule.Next(later(floor, now))
	}
	tick := schedule.Next(floor)
	if tick.IsZero() || tick.After(now.Add(-fresh)) {
		return
	}
	s.ReasonTick, _ = newest(schedule, tick, now.Add(-fresh))
	switch {
	case s.Paused:
		s.Reason = "paused by " + v.Pause.By
	case s.Leader == "":
		s.Reason = "nobody leads"
	default:
		s.Reason = s.Leader + " leads and has not claimed it: it does not have the job, or finds no quorum"
	}
}
