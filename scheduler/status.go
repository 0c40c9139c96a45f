package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Status is what the nodes know of a job.
type Status struct {
	Job, Spec, Zone string    // as the present or last leader has them; Spec is normalized, and that of a Schedule begins with @schedule
	Next            time.Time // the next tick that is to run; zero if the job is paused without an end, was removed, or has none

	// Own is the spec and zone that this process has for the job if they differ from the leader's, as in a rolling deploy, or
	// if its zone data differ. It is "none" if this process does not have the job, and empty if they are the same.
	Own string

	// Reason says why the newest tick without a run was not run, or why the newest run is lost. ReasonTick is that
	// tick. Both are empty if a newer tick ran. A Reason without a ReasonTick says why the nodes' state of the job
	// cannot be read, or why its Schedule has failed in this process: no more is known then.
	Reason     string
	ReasonTick time.Time

	Last, LastOK Record // the newest run, and the newest that was StateOK
	LastEnded    Record // the newest run that has ended
	Failures     int    // runs in a row that failed or were lost
	Missed       int    // all missed ticks
	Paused       bool
	Pause        Change    // who paused it, when and why; zero if it is not paused
	Waiting      Waiting   // what has come and not begun waits for; zero if the job is paused
	Running      bool      // Last has no end
	Overrun      Record    // the oldest run without an end whose Timeout has passed, as its Err says; zero if there is none
	Leader       string    // identity; empty if nobody leads
	Removed      bool      // the leader had the job and does not have it any more: it has no ticks until it is added again
	Unowned      bool      // the newest leader has stored all of its jobs, and not this one: it does not have it
	DataLost     time.Time // when a leader found that a majority of nodes had lost the job; zero: never

	isIgnored bool // a tick has not begun, and nothing that the nodes say explains that
}

// Status returns the newest that the nodes say of one job. This process need not lead. The error is [ErrUnknownJob] if no leader
// has ever had a job of that name.
func (s *Scheduler) Status(ctx context.Context, job string) (Status, error) {
	if err := name.Check("name", job); err != nil {
		return Status{}, fmt.Errorf("%w: %w", ErrName, err)
	}
	leader := s.askLeader(ctx)
	views, now, err := s.store.Views(ctx, job)
	if err != nil {
		return Status{}, publicError("status of", job, err)
	}
	if len(views) == 0 {
		return Status{}, s.unknown(ctx, job)
	}
	id, err := leader()
	if err != nil {
		return Status{}, err
	}
	return s.statusOf(&views[0], id, now), nil
}

// Jobs returns the newest that the nodes say of all jobs that any leader of this election has had, sorted by name. This process
// need not lead. [Scheduler.JobsAfter] returns a page of them, [Scheduler.History] the records of one.
func (s *Scheduler) Jobs(ctx context.Context) ([]Status, error) { return s.list(ctx, "", math.MaxInt) }

// JobsAfter returns the first n jobs whose names come after the given one, sorted by the bytes of their names. It returns fewer
// if there are no more. The first page comes after "".
func (s *Scheduler) JobsAfter(ctx context.Context, after string, n int) ([]Status, error) {
	if n < 1 {
		return nil, fmt.Errorf("scheduler: jobs: n is %d, must be at least 1", n)
	}
	return s.list(ctx, after, n)
}

// list returns the first n of the jobs after a name.
func (s *Scheduler) list(ctx context.Context, after string, n int) ([]Status, error) {
	leader := s.askLeader(ctx)
	var pages [][]Status
	count := 0
	for read := s.ahead(ctx, after, n); read != nil; {
		p, err := read()
		if err != nil {
			return nil, publicError("jobs of", s.elector.Name(), err)
		}
		id, err := leader()
		if err != nil {
			return nil, err
		}
		read = nil
		if left := n - count - p.Len(); p.Next != "" && left > 0 {
			read = s.ahead(ctx, p.Next, left)
		}
		views := slices.DeleteFunc(p.Views(), func(v jobstore.View) bool { return v.Job == jobstore.AllJobs })
		page := make([]Status, len(views))
		for i := range views {
			page[i] = s.statusOf(&views[i], id, p.Now)
		}
		pages, count = append(pages, page), count+len(page)
		if read == nil && p.Next != "" && count < n { // some jobs of the page cannot be shown
			read = s.ahead(ctx, p.Next, n-count)
		}
	}
	all := slices.Concat(pages...)
	return all[:min(n, len(all))], nil // a page may have more jobs than n, if the nodes do not know the same ones
}

// ahead reads a page while the caller decodes the previous one.
func (s *Scheduler) ahead(ctx context.Context, after string, n int) func() (jobstore.Page, error) {
	return beside(func() (jobstore.Page, error) { return s.store.Page(ctx, after, min(n, jobstore.MaxJobs)) })
}

// askLeader starts to ask who leads. The function that it returns waits for the answer, which is "" if nobody leads.
func (s *Scheduler) askLeader(ctx context.Context) func() (id string, err error) {
	return beside(func() (string, error) {
		leader, err := s.elector.Leader(ctx)
		if err != nil && !errors.Is(err, election.ErrNoLeader) {
			return "", fmt.Errorf("scheduler: jobs: %w", err)
		}
		return leader.ID, nil
	})
}

// beside calls ask on a new goroutine, which ends by the node timeout. The function that it returns waits for the answer.
func beside[T any](ask func() (T, error)) func() (T, error) {
	var answer T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = ask()
	}()
	return func() (T, error) {
		<-done
		return answer, err
	}
}

const maxHistory = 50 // rows that the nodes keep; a node may have a few more

// History returns the newest n rows of a job's history, the newest first, as the nodes say. The nodes keep 50.
// Runs under way come first and count too. The error is [ErrUnknownJob] if no leader has ever had a job of that name.
func (s *Scheduler) History(ctx context.Context, job string, n int) ([]Record, error) {
	if err := name.Check("name", job); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	if n < 1 {
		return nil, fmt.Errorf("scheduler: history of %q: n is %d, must be at least 1", job, n)
	}
	views, now, err := s.store.Views(ctx, job)
	if err != nil {
		return nil, publicError("history of", job, err)
	}
	if len(views) == 0 {
		return nil, s.unknown(ctx, job)
	}
	n = min(n, maxHistory)
	ended, err := s.store.History(ctx, job, n)
	if err != nil {
		return nil, publicError("history of", job, err)
	}
	var all []Record
	open := views[0].State.Open
	for i := range open {
		if o := open[len(open)-1-i]; !o.Returned { // the history has those that have returned: they were cut off
			all = append(all, runningOf(job, o, now))
		}
	}
	if skipped := views[0].State.Skipped; skipped != nil {
		all = append(all, recordOf(job, *skipped))
	}
	for _, r := range ended {
		all = append(all, recordOf(job, r))
	}
	return all[:min(n, len(all))], nil
}

// statusOf returns the status of a job. now is by the nodes' clock.
func (s *Scheduler) statusOf(v *jobstore.View, leader string, now time.Time) Status {
	st := Status{Job: v.Job, Leader: leader}
	if v.Err != nil {
		st.Reason = v.Err.Error()
		return st
	}
	st.Zone, st.Spec = cronspec.SplitPlan(v.State.Plan)
	own := s.own(v.Job)
	switch {
	case own == nil && s.isSourced(v.Job): // only the leader has it
	case own == nil:
		st.Own = "none"
	case own.plan != v.State.Plan:
		st.Own = own.plan
	case own.machine.Shift(&v.State) != 0:
		st.Own = own.plan + " with other zone data"
	}
	st.Removed, st.Unowned = v.State.Removed, v.Left && !v.State.Removed
	st.Missed, st.Failures, st.DataLost = v.State.Missed, v.State.Failures, v.State.Lost
	switch {
	case v.Pause.Holds(now):
		st.Paused, st.Pause = true, changeOf(v.Job, jobstore.Request{Setting: v.Pause})
	case v.State.All.Holds(now):
		st.Paused, st.Pause = true, changeOf(jobstore.AllJobs, jobstore.Request{Setting: v.State.All})
	}
	st.LastEnded, st.LastOK = rowOf(v.Job, v.State.Last), rowOf(v.Job, v.State.LastOK)
	st.Last = st.LastEnded
	for _, o := range v.State.Open {
		if o.Returned {
			continue
		}
		r := runningOf(v.Job, o, now)
		if st.Last.ID == "" || !r.Start.Before(st.Last.Start) {
			st.Last = r
		}
		if st.Overrun.ID == "" && r.Err != "" {
			st.Overrun = r
		}
	}
	st.Running = st.Last.State == StateRunning
	switch {
	case v.State.NotRun.Tick.After(st.Last.Tick), st.Last.Manual && !v.State.NotRun.Tick.IsZero():
		st.Reason, st.ReasonTick = v.State.NotRun.Reason, v.State.NotRun.Tick
	case st.Last.State == StateLost:
		st.Reason, st.ReasonTick = st.Last.Err, st.Last.Tick
	}
	st.due(v, own, now)
	if st.isIgnored {
		if problems := s.elector.Problems(); len(problems) > 0 {
			st.Reason = problems[0].Err.Error()
		}
	}
	return st
}

// own returns this process's job of that name, or nil if it has none.
func (s *Scheduler) own(name string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[name]
}

// scheduleOf returns the schedule of a plan, or an error if there is none or it has failed. It saves the parsing if own has that plan, which is the usual case.
func scheduleOf(plan string, own *job) (jobmachine.Schedule, error) {
	if own != nil && own.plan == plan {
		return own.schedule, own.failure()
	}
	return cronspec.ParsePlan(plan)
}

func rowOf(job string, r *jobstore.Record) Record {
	if r == nil {
		return Record{}
	}
	return recordOf(job, *r)
}

// due fills in the next tick, and why ticks that have come since the high-water mark have not run.
func (st *Status) due(v *jobstore.View, own *job, now time.Time) {
	if v.State.Removed {
		return // it has no ticks until it is added again
	}
	schedule, err := scheduleOf(v.State.Plan, own)
	if err != nil { // another version of this library wrote the plan, or a Schedule has failed
		st.Reason = err.Error()
		return
	}
	mark, resumes, endless := v.State.Mark, latest(v.State.Mark, now), false
	for _, p := range []jobstore.Setting{v.Pause, v.State.All} {
		end := p.At()
		if p.On {
			end = p.Until.Add(-time.Millisecond) // a tick at the very end of a pause runs
		}
		if p.Version > 0 {
			resumes, endless = latest(resumes, end), endless || p.On && p.Until.IsZero()
		}
		if p.Version > 0 && !st.Paused {
			mark = latest(mark, end)
		}
	}
	if !endless {
		st.Next = schedule.Next(resumes)
	}
	timetable := jobmachine.Job{Name: v.Job, Schedule: schedule}
	if own != nil {
		timetable.Jitter = own.Jitter // the nodes do not store it
	}
	if !st.Paused {
		st.Waiting = waitingOf(v, timetable, mark, now, st.Leader != "" && !v.Left)
	}
	tick := timetable.NewestDue(mark, now.Add(-jobmachine.LateTolerance))
	if tick.IsZero() {
		return
	}
	st.ReasonTick = tick
	switch {
	case st.Paused:
		pause, what := v.Pause, "paused by "
		if st.Pause.Job == "" {
			pause, what = v.State.All, "paused with all jobs by "
		}
		st.Reason = what + pause.Who()
		if !pause.Until.IsZero() {
			st.Reason += " until " + pause.Until.Format(time.DateTime)
		}
		if pause.Why != "" {
			st.Reason += ": " + pause.Why
		}
	case st.Leader == "":
		st.Reason = "nobody leads"
	case v.Left:
		st.Reason = st.Leader + " leads, and does not have the job"
	case v.Older:
		st.Reason = "it waits " + st.Waiting.What
	case v.State.Waits != "":
		st.Reason = v.State.Waits
	default:
		st.Reason = st.Leader + " leads, and has not started it: Elector.Check and the log say why there"
		st.isIgnored = true
	}
}
