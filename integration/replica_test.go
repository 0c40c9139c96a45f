//go:build unix

package integration_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// settingsVariable has settings as JSON. With it, the test binary is a replica or a contender.
const settingsVariable = "REDLOCKFX_TEST_REPLICA"

type settings struct {
	Name     string
	Contends bool // it is a contender, not a replica
	Nodes    []string

	Login    string // turns an address into a URL; may be empty
	Election string
	TTL      time.Duration

	Spec     string        // of the job
	RunFor   time.Duration // the duration of a run
	EachTick bool          // the job catches up with all ticks, and queues them
	Window   time.Duration // of the catch-up; 0: an hour
	Rows     string        // file with a line for each job of a source; empty: there is no source
}

// defaults are the default settings of replicas.
var defaults = settings{
	Election: "jobs", TTL: ttl, Spec: "* * * * * *", RunFor: runFor,
}

// steady returns usual settings with a job that runs each tick, even if late because the machine is busy.
func steady() settings {
	s := defaults
	s.EachTick = true
	return s
}

// margin is the stop margin.
func (s settings) margin() time.Duration { return s.TTL / 5 }

const (
	jobName = "job"

	ttl         = 8 * time.Second // if shorter, healthy leaders lose their leases when the machine stalls
	nodeTimeout = ttl / 10
	margin      = ttl / 5

	// shortTTL is for tests that wait for many leases to expire.
	shortTTL = 3 * time.Second

	tickEvery = time.Second
	runFor    = 300 * time.Millisecond // so that terms end during runs
	endFor    = 100 * time.Millisecond // what a callback takes to return
	drain     = 10 * time.Second       // what it may take

	sampleEvery = 50 * time.Millisecond
	closeWithin = 5 * time.Second
)

// Events of a replica that Check does not use.
const (
	woken integration.Kind = "woken" // the process continues after a stop; Valid: it said that it leads
	late  integration.Kind = "late"  // a callback that was added when the process woke starts
)

// replica is the program under test as users would write it, plus a log of what it does.
type replica struct {
	settings
	clock clock
}

// beProcess is the main function of replicas and contenders. It returns the exit code.
func beProcess(variable string) int {
	logging.Disable() // go-redis reports each failed dial
	clock, err := newClock()
	r := replica{clock: clock}
	err = errors.Join(err, json.Unmarshal([]byte(variable), &r.settings))
	if err == nil && r.Contends {
		err = r.contend()
	} else if err == nil {
		err = r.campaign()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// campaign is the main function of a replica. It returns after SIGTERM.
func (r *replica) campaign() error {
	log, err := zap.NewDevelopment(zap.AddStacktrace(zap.PanicLevel))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	locker, err := redlock.Open(r.Nodes, redlock.WithTTL(r.TTL), redlock.WithNodeTimeout(r.TTL/10))
	if err != nil {
		return err
	}
	elector, err := election.New(locker, r.Election, election.WithIdentity(r.Name, ""),
		election.WithStopMargin(r.margin()), election.WithDrainTimeout(drain),
		election.WithHooks(r.hooks()), election.WithLogger(log), election.OnLeader(r.lead))
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector, scheduler.WithLogger(log))
	if err != nil {
		return err
	}
	if err := jobs.Add(r.job()); err != nil {
		return err
	}
	if r.Rows != "" {
		if err := jobs.AddSource(scheduler.Source{Name: sourceName, Load: r.load, Every: loadEvery}); err != nil {
			return err
		}
	}

	looking, stopLooking := context.WithCancel(context.Background())
	var looks sync.WaitGroup // its two goroutines end with looking
	looks.Go(func() { r.sample(looking, elector) })
	looks.Go(func() { r.watch(looking, elector) })
	err = elector.Run(ctx)
	stopLooking()
	looks.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err = errors.Join(err, locker.Close(ctx))
	e := r.event(integration.Exit, nil)
	if err != nil {
		e.Text = err.Error()
	}
	r.write(e)
	return err
}

// hooks returns hooks that log every change of a stop deadline at once.
func (r *replica) hooks() election.Hooks {
	tell := func(t *election.Term) { r.write(r.event(integration.Deadline, t)) }
	return election.Hooks{
		Renewed: func(t *election.Term, _ int, _ time.Duration, _ error) { tell(t) },
		Drained: func(t *election.Term, _ time.Duration, _ bool) { tell(t) },
	}
}

// lead is the callback.
func (r *replica) lead(ctx context.Context) {
	term, _ := election.TermFrom(ctx)
	r.write(r.event(integration.LeadBegin, term))
	<-ctx.Done()
	e := r.event(integration.LeadDone, term)
	e.Text = context.Cause(ctx).Error()
	r.write(e)
	<-time.After(endFor)
	r.write(r.event(integration.LeadEnd, term))
}

func (r *replica) job() scheduler.Job {
	job := scheduler.Job{Name: jobName, Spec: r.Spec, Run: r.work}
	if r.EachTick {
		job.CatchUp, job.Overlap = scheduler.CatchUpAll(cmp.Or(r.Window, time.Hour)), scheduler.Queue
	}
	return job
}

// work is the Run function of the job.
func (r *replica) work(ctx context.Context, run scheduler.Run) error {
	term, _ := election.TermFrom(ctx)
	r.write(r.of(integration.RunBegin, run, term))
	select {
	case <-time.After(r.RunFor):
	case <-ctx.Done():
	}
	e := r.of(integration.RunEnd, run, term)
	if cause := context.Cause(ctx); cause != nil {
		e.Text = cause.Error()
	}
	r.write(e)
	return nil
}

// sample logs from time to time whether the replica believes that it leads.
func (r *replica) sample(ctx context.Context, elector *election.Elector) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.write(r.look(elector))
		}
	}
}

// watch waits until a leader gets SIGUSR1. Then it checks without a pause whether the process leads, until it notices
// that the process was stopped for a while. It registers a callback, and logs the first answer after the stop. That
// answer usually comes before any timer of the process has run.
func (r *replica) watch(ctx context.Context, elector *election.Elector) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	defer signal.Stop(asked)
	select {
	case <-ctx.Done():
		return
	case <-asked:
	}
	term, leads := elector.Term()
	if !leads {
		return
	}
	before := r.clock.now() // read first, because a reader of the event may stop this process at once
	r.write(r.event(integration.Watch, term))
	for ctx.Err() == nil {
		at := r.clock.now()
		leads := elector.IsLeader()
		valid := term.Valid()
		if at-before > r.TTL/2 {
			elector.OnLeader(func(ctx context.Context) {
				term, _ := election.TermFrom(ctx)
				r.write(r.event(late, term))
			})
			e := r.event(woken, term)
			e.At, e.Valid = at, leads || valid
			r.write(e)
			return
		}
		before = at
	}
}

// look reads the time before it asks whether the replica leads, so the answer was true at that time or later. If the
// term has started in between, look uses the start of the term.
func (r *replica) look(elector *election.Elector) integration.Event {
	at := r.clock.now()
	term, leads := elector.Term()
	e := r.event(integration.Sample, term)
	e.At, e.Valid = min(max(at, e.Since), e.At), leads
	return e
}

func (r *replica) event(kind integration.Kind, term *election.Term) integration.Event {
	e := integration.Event{At: r.clock.now(), Replica: r.Name, Kind: kind}
	if term != nil {
		e.Token = term.Token()
		e.Since, e.Deadline = r.clock.at(term.Since()), r.clock.at(term.Deadline())
	}
	return e
}

// of returns an event of a run.
func (r *replica) of(kind integration.Kind, run scheduler.Run, term *election.Term) integration.Event {
	e := r.event(kind, term)
	e.Job, e.Tick, e.RunToken, e.Rerun = run.Job, run.Tick, run.Token, run.Rerun
	return e
}

// write adds a line to the log, at once and in one piece, from any goroutine. If that fails, the test is gone, or
// will notice that the line is missing.
func (r *replica) write(e integration.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // an Event is plain data
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}
