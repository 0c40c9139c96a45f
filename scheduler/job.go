package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
)

const (
	maxRetries         = 100
	maxAttempts        = 1000
	defaultMaxAttempts = 5
	defaultWait        = time.Second
	defaultMaxWait     = time.Hour
)

// Job is a piece of work and its timetable.
//
// If the spec or zone of a job changes, its new ticks begin with the change. A tick of the old spec that has come and has not run
// still runs if the new spec has it as well, and is otherwise recorded as missed. What counts are the values of the spec's
// fields: "0 0 * * *" for "@daily", 1,2,3 for 1-3, and another name of UTC are no changes; another name of any other zone is. So
// is a switch between plain times of day and a range or step, as from "0 9,10 * * *" to "0 9-10 * * *", because [Parse] treats the
// two differently when a clock is set back.
//
// A job with @at has one tick. If nobody leads then, [CatchUp] says for how long it still runs. It does not come again after a
// restart or a deploy. A job that the nodes do not know yet has only ticks that come after it was added, so deploy a job with @at
// before its tick.
//
// If replicas have different zone data, as after a government has moved the clock, the leader's apply. The nodes keep up to which
// local time a job's ticks are settled, so no local time runs again when a replica with other data leads: its second tick is
// recorded as missed. A spec that fires in every hour follows real time instead.
type Job struct {
	// Name identifies the job on every replica: 1 to 200 bytes of UTF-8 without invisible characters.
	Name string
	// Spec says when the job ticks; see [Parse].
	Spec string
	// Schedule, if it is set, has the ticks instead, such as those on the working days of a country. Its Next must return the same
	// ticks, which are whole seconds, on every replica and from wherever one looks. It must return at once, and may be called from
	// several goroutines. Spec is then a text of 1 to 200 bytes by which replicas tell one schedule from another: change it whenever
	// the ticks change, and with new data, remove the job and add it again. Replicas that do not have the job do not know its next
	// tick. Location does not apply.
	//
	// A Schedule whose Next panics, returns an instant that is not later, or does not return within two seconds, is refused by Add.
	// If that happens later, the job has no ticks any more in this process. That is logged, and [election.Elector.Check] says it.
	Schedule cron.Schedule
	// Run does the work of one tick. A job has no parameters: Run is a closure over what it needs. Two jobs that need different
	// values need different names.
	//
	// Its context has the values of the term's context, including the term itself ([election.TermFrom]), and ends early for one of
	// these causes, which context.Cause returns:
	//
	//	election.ErrLost           the lease was lost; nobody else leads within the stop margin
	//	election.ErrStopped,       the leader was asked to stop, or resigned, and the time to drain is over
	//	election.ErrResigned
	//	context.DeadlineExceeded   the job's Timeout, which the text of the cause names
	//	ErrReplaced                the job's Overlap is Replace, and another tick came
	//	ErrCanceled                somebody has called [Scheduler.Cancel]
	//
	// A run is not canceled when the leader is asked to stop, but only when the time to drain is over. It fails with the
	// error, the panic or the runtime.Goexit of its function, which disturbs nothing else.
	Run func(ctx context.Context, run Run) error

	// Location is the zone of a Spec that names none. If nil, the Scheduler's location applies.
	Location *time.Location
	// Timeout ends the context of a run, its retries and their pauses included; 0 is no timeout. No retry follows that would
	// begin later. Another leader that goes on with the run gives it the whole time again. A run whose Run does not return
	// by then still counts as under way, and is reported: see [Hooks.Overrun]. If Run returns nil later, the run is [StateOK],
	// and [Record].Err says that it was late.
	Timeout time.Duration
	// Overlap says what happens to a tick that comes while a run of the job is under way.
	Overlap Overlap
	// CatchUp says what happens to ticks that came while nobody led; CatchUpLast(time.Hour) if not set.
	CatchUp CatchUp
	// Retry says what happens when Run returns an error or panics.
	Retry Retry
	// Jitter delays each run by up to that much, but always by less than the time until the next tick. It spreads jobs
	// that tick at the same instant. The delay depends on job and tick alone. 0 is none.
	Jitter time.Duration
	// AtLeastOnce runs a tick again in two cases: its run was cut off because its leader stopped or lost its lease, or
	// the run has no known end because its process was killed or could not store the end. Run must tolerate that:
	// [Run.Key] is the same, and Attempt is larger.
	AtLeastOnce bool
	// MaxAttempts bounds AtLeastOnce for a tick that kills its process, as by using up its memory: how many processes may be gone
	// without its end, over all leaders, before it is [StateLost]; 1 to 1000, 0 is 5. The first repeat follows at once, each further
	// one after a pause that grows like those of Retry. Runs that were cut off by a stop, and retries after errors, do not count. Too
	// few, and a bad node or two lose the tick; too many, and one tick takes down every replica as often.
	MaxAttempts int
}

// Overlap is what happens to a tick that comes while a run of the same job is under way.
//
// What counts is whether a run was under way at the instant when the tick was due. A tick that comes between two runs, and
// waits for a leader or for the nodes, is not skipped. A run is under way until its function has returned, whatever its
// context says. It counts as under way in the pauses before its retries too: Skip skips ticks that come meanwhile.
// Replace ends such a pause, and the run has failed. Ticks may wait under Queue or Replace for as long as the runs take:
// the window of CatchUp does not apply to them.
//
// All this holds across changes of leader too. A run that goes on after its term holds a lease of its own. The first
// run of the next leader waits for that lease, and ticks that come meanwhile are not skipped because of the wait. If the
// lease is still held after MaxTTL plus one second, a live run has extended it. Then Skip skips the ticks that came
// before the wait.
type Overlap int

const (
	// Skip does not run the tick.
	Skip = Overlap(jobmachine.Skip)
	// Queue runs the tick when the other run has returned, on whatever replica leads then. Of several ticks only the newest
	// waits, or all of them with CatchUpAll.
	Queue = Overlap(jobmachine.Queue)
	// Replace ends the other run's context with [ErrReplaced], and is like Queue otherwise.
	Replace = Overlap(jobmachine.Replace)
	// Allow runs the tick at once, alongside the other run.
	Allow = Overlap(jobmachine.Allow)
)

// Retry says how a run tries again after an error or a panic. The pause before a retry is stored on the nodes. It holds up no
// leader that stops, and whoever leads after it makes the retry, also without AtLeastOnce, as it does if an attempt fails while
// its leader drains. A job that is removed makes no retry.
type Retry struct {
	// Times is the largest number of attempts after the first one: 0 to 100.
	Times int
	// Wait is the shortest pause before the first retry; 0 is one second. It doubles with each retry. Up to the same amount is added
	// at random.
	Wait time.Duration
	// MaxWait is where the doubling ends; 0 is one hour, or Wait if that is longer.
	MaxWait time.Duration
}

// Permanent returns an error with the same text after which a run is not retried. If err is nil, it returns nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// job is a Job that was added.
type job struct {
	Job
	schedule jobmachine.Schedule
	plan     string                           // normalized spec and zone
	label    string                           // for messages about what is under way
	machine  jobmachine.Job                   // the settings that the job's machine needs
	call     func(context.Context, Run) error // Run within the middleware
	where    string                           // file and line of the call to Add, for error messages
	removed  atomic.Bool                      // no run starts any more

	run   atomic.Pointer[func(context.Context, Run) error] // Run, or that of the row that was loaded last
	loads *source                                          // whose loads are its runs; nil: none
}

// timetable returns the job's ticks.
func (j *Job) timetable(loc *time.Location) (cronspec.Schedule, error) {
	if j.Schedule == nil {
		return cronspec.Parse(j.Spec, loc)
	}
	if err := name.Check("the spec of a Schedule", j.Spec); err != nil {
		return nil, err
	}
	g := &given{Opaque: cronspec.Opaque(j.Spec), schedule: j.Schedule}
	return g, g.check(time.Now())
}

// newJob checks a job. An error has all its problems; only the name of the returned job is usable then.
func newJob(j Job, where string, loc *time.Location) (*job, error) {
	var problems []error
	if err := name.Check("name", j.Name); err != nil {
		problems = append(problems, fmt.Errorf("%w: %w, at %s", ErrName, err, where))
	}
	if j.Location != nil {
		loc = j.Location
	}
	if err := cronspec.CheckZone(loc); err != nil {
		problems = append(problems, fmt.Errorf("scheduler: job %q: location: %w", j.Name, err))
		loc = nil
	}
	schedule, err := j.timetable(loc)
	plan := ""
	if err != nil {
		problems = append(problems, fmt.Errorf("%w %.64q of job %q: %w", ErrSpec, j.Spec, j.Name, err))
	} else {
		plan = schedule.Plan()
	}

	check := func(ok bool, format string, args ...any) {
		if !ok {
			format = "scheduler: job %q: " + format
			problems = append(problems, fmt.Errorf(format, append([]any{j.Name}, args...)...))
		}
	}
	check(j.Run != nil, "Run is nil")
	checkSpan := func(what string, d time.Duration) {
		check(d >= 0, "%s %v must not be negative", what, d)
		check(d <= 0 || d >= time.Millisecond, "%s %v is below 1ms: multiply it by a unit, as in %d*time.Second", what, d, d)
	}
	checkSpan("timeout", j.Timeout)
	check(j.Overlap >= Skip && j.Overlap <= Allow,
		"overlap %d must be Skip, Queue, Replace or Allow (%d to %d)", j.Overlap, Skip, Allow)
	check(j.Retry.Times >= 0 && j.Retry.Times <= maxRetries,
		"retry times %d must be from 0 to %d", j.Retry.Times, maxRetries)
	checkSpan("retry wait", j.Retry.Wait)
	checkSpan("longest retry wait", j.Retry.MaxWait)
	check(j.Retry.MaxWait == 0 || j.Retry.MaxWait >= cmp.Or(j.Retry.Wait, defaultWait),
		"longest retry wait %v must be at least the first one, %v", j.Retry.MaxWait, cmp.Or(j.Retry.Wait, defaultWait))
	check(j.MaxAttempts >= 0 && j.MaxAttempts <= maxAttempts, "max attempts %d must be from 1 to %d, or 0 for %d",
		j.MaxAttempts, maxAttempts, defaultMaxAttempts)
	check(j.MaxAttempts == 0 || j.AtLeastOnce, "max attempts %d is for AtLeastOnce: without it, a tick whose process is gone is not run again",
		j.MaxAttempts)
	checkSpan("jitter", j.Jitter)
	if err := j.CatchUp.problem(); err != nil {
		check(false, "%w", err)
	} else {
		checkSpan("catch-up window", j.CatchUp.window)
	}
	j.CatchUp = j.CatchUp.orDefault()
	wait := cmp.Or(j.Retry.Wait, defaultWait)
	checked := &job{Job: j, schedule: schedule, plan: plan, label: jobstore.Label(j.Name), where: where}
	checked.machine = jobmachine.Job{
		Name: j.Name, Plan: plan, Schedule: schedule, Overlap: jobmachine.Overlap(j.Overlap),
		CatchUp: jobmachine.CatchUp{All: j.CatchUp.kind == catchUpAll, Window: j.CatchUp.window},
		Jitter:  j.Jitter, Timeout: j.Timeout, Tries: 1 + j.Retry.Times, AtLeastOnce: j.AtLeastOnce,
		Wait: wait, MaxWait: cmp.Or(j.Retry.MaxWait, max(wait, defaultMaxWait)), MaxDeaths: cmp.Or(j.MaxAttempts, defaultMaxAttempts),
	}
	return checked, errors.Join(problems...)
}
