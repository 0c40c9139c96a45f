package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxUnsure bounds how long a new leader waits for nodes that may show that a run of the previous leader has not started.
const maxUnsure = 2 * time.Second

// maxPrepares bounds the calls under way. With two, the nodes work while the leader processes the answers of the other call.
const maxPrepares = 2

// prepares has the jobs whose state must be read from the nodes before any of their runs is opened.
type prepares struct {
	waiting  []*entry  // for the next batch
	batch    []*entry  // the rest of the present batch
	calls    int       // under way
	at       time.Time // the next batch does not start earlier
	failures int       // in a row
	problem  error     // of the last one
	late     int       // jobs whose state it has not returned
	warned   bool
}

func (p *prepares) areRunning() bool { return p.calls > 0 || len(p.batch) > 0 }

// add adds a job, which is not in the agenda.
func (p *prepares) add(e *entry, now time.Time) {
	e.wake = e.job.schedule.Next(now)
	p.waiting = append(p.waiting, e)
}

// maxChanges bounds how many additions and removals are applied in one go, which holds up ticks.
const maxChanges = 1000

// sync applies additions and removals of jobs, and returns whether there are more than that many.
func (l *loop) sync(most int) (more bool) {
	now := l.clock.now()
	changes, more := l.s.takeChanges(most)
	for name, j := range changes {
		e := l.entries[name]
		switch {
		case j == nil && e != nil:
			l.apply(e, jobmachine.Removed{})
		case j == nil || l.drained && e == nil:
		case e == nil:
			l.enter(j, now)
		default:
			before := e.job.schedule
			e.job = j
			l.apply(e, jobmachine.Added{Job: &j.machine, Before: before})
		}
	}
	return more
}

// enter makes a job one of this term.
func (l *loop) enter(j *job, now time.Time) {
	e := &entry{job: j, machine: jobmachine.New(&j.machine, l.id), older: true, index: -1}
	l.entries[j.Name] = e
	l.ballot.older++
	l.prepares.add(e, now)
	l.polls.pollFirst()
	if j.loads != nil {
		l.sources = append(l.sources, e)
	}
}

// prepare reads the state of waiting jobs from the nodes, and returns the pause before the next call.
func (l *loop) prepare() time.Duration {
	p := &l.prepares
	if l.ballot.Ballot == "" || l.ballot.taking || l.ballot.fenced {
		return maxPoll
	}
	if !p.areRunning() && len(p.waiting) > 0 {
		if pause := time.Until(p.at); pause > 0 {
			return pause
		}
		p.batch, p.waiting = p.waiting, nil
		if len(p.batch) > jobstore.MaxJobs {
			l.soonestFirst(p.batch)
		}
	}
	for len(p.batch) > 0 && p.calls < maxPrepares {
		n := min(len(p.batch), jobstore.MaxJobs)
		l.readJobs(p.batch[:n])
		p.batch = p.batch[n:]
	}
	return maxPoll
}

// readJobs reads the state of some jobs from the nodes.
func (l *loop) readJobs(jobs []*entry) {
	l.prepares.calls++
	names := make([]string, len(jobs)) // a copy for the call's goroutine: only the loop may read entries
	for i, e := range jobs {
		names[i] = e.job.Name
	}
	ballot, ctx := l.ballot.Ballot, l.asking()
	leader := jobstore.Leader{Token: l.term.Token(), Replica: l.s.elector.Identity()}
	l.work.Go(func() { // ends by the node timeout; lead waits for it
		promises, err := l.s.store.Prepare(ctx, ballot, leader, names)
		l.inbox.post(func() {
			l.prepares.calls--
			l.prepared(jobs, promises, err)
		})
	})
}

// soonestFirst sorts jobs by their next tick, after the pause of all of them. With very many jobs, the last are ready seconds after the
// first.
func (l *loop) soonestFirst(jobs []*entry) {
	isLast := func(e *entry) int { // it has no more ticks
		if e.wake.IsZero() && e != l.all {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(jobs, func(a, b *entry) int { return cmp.Or(isLast(a)-isLast(b), a.wake.Compare(b.wake)) })
}

// prepared applies the state of some jobs that the nodes returned.
func (l *loop) prepared(jobs []*entry, promises []jobstore.Promise, err error) {
	if err != nil {
		if l.isFenced(err) {
			return
		}
		if fencedByEarlier(err) {
			l.wantBallot(time.Now())
		}
		l.notPrepared(jobs, err)
		return
	}
	now := l.clock.now()
	var late []*entry
	var lost []string
	kept := 0
	var setBack time.Duration
	var problem error
	for i, e := range jobs {
		if l.entries[e.job.Name] != e {
			continue // removed meanwhile
		}
		basis, err := l.s.store.Decide(promises, i)
		if err != nil || l.waits(basis, now) {
			problem, late = cmp.Or(err, problem), append(late, e)
			continue
		}
		if l.recall(e, &basis, now) && e != l.all {
			kept++
		}
		setBack = max(setBack, basis.SetBack)
		if basis.Lost && e != l.all {
			lost = append(lost, e.job.Name)
		}
		l.begin(e, basis, now)
	}
	if setBack > 0 && !l.ballot.setBack {
		l.reportSetBack(setBack)
	}
	l.reportDataLost(lost, kept)
	if len(late) > 0 {
		l.notPrepared(late, problem)
		return
	}
	l.prepares.failures, l.prepares.warned = 0, false
}

// begin starts the ticks of a job from the state that the nodes have.
func (l *loop) begin(e *entry, basis jobstore.Basis, now time.Time) {
	event := jobmachine.Prepared{Now: now, Basis: basis, Absence: l.ballot.absence(basis.At),
		Unnoticed: l.s.pollEvery() + jobmachine.LateTolerance, Wall: l.clock.wall()}
	if e.machine.At().Ballot == "" { // nobody may have led since the clocks were set back
		event.Unnoticed = math.MaxInt64
	}
	l.s.mu.Lock()
	event.Ended = l.s.unstored[e.job.Name]
	delete(l.s.unstored, e.job.Name)
	l.s.mu.Unlock()
	if basis.Known && basis.State.Plan != e.job.plan {
		if before, err := cronspec.ParsePlan(basis.State.Plan); err == nil {
			event.Before = before
		}
	}
	if basis.Known && e.job.machine.Shift(&basis.State) != 0 {
		l.reportZoneData(e.job, &basis.State)
	}
	if l.s.isSourced(e.job.Name) {
		event.Absence += ", and its source was loaded at " + now.UTC().Format(time.DateTime)
	}
	l.advance(e, event)
	switch {
	case e.isUnloaded():
		l.advance(e, l.firstLoad(e, now))
	case e.job.removed.Load(): // a sweep has found it
		l.advance(e, jobmachine.Removed{})
	}
	if e == l.all {
		l.passOn(e.machine.State().Pause)
	} else if all := l.all.machine; all.IsPrepared() {
		l.advance(e, jobmachine.Asked{Now: now, Request: ofAll(all.State().Pause)})
	}
	for _, asked := range l.polls.asked[e.job.Name] {
		l.take(e, asked)
	}
	if l.polls.mayLack(e) {
		l.polls.pollAll()
	}
	if before := e.machine.State().Plan; before != e.job.plan {
		l.log.Info("the job's spec or zone has changed: its ticks begin now", zap.String("job", e.job.Name),
			zap.String("before", before), zap.String("now", e.job.plan))
	}
	if l.drained {
		l.requeue(e)
	} else { // queued, because very many jobs come at once and must not delay a tick
		l.ready.push(e)
	}
}

// waits reports whether to wait for nodes that have not answered, for one of two reasons. They may show that a run has not
// started: the wait is at most maxUnsure. Or other nodes lost their state recently, and these may know more of the job: the wait
// is at most the restart guard.
func (l *loop) waits(b jobstore.Basis, now time.Time) bool {
	if b.Unsure && now.Before(l.ballot.Time().Add(maxUnsure)) {
		return true
	}
	guard := l.s.elector.Locker().Settings().MaxTTL
	from := b.Floor.Add(-jobstore.Ahead) // ahead of now if the clocks were set back since: there is nothing to wait for
	return !b.Floor.IsZero() && !b.Complete && !from.After(now.Add(jobstore.Ahead)) && now.Before(from.Add(guard))
}

// notPrepared schedules another attempt.
func (l *loop) notPrepared(jobs []*entry, problem error) {
	p := &l.prepares
	p.failures++
	p.problem, p.late = problem, len(jobs)
	p.at = time.Now().Add(backoff.After(p.failures))
	p.waiting = append(p.waiting, jobs...)
	if problem != nil && !p.warned && l.stopping.Err() == nil {
		p.warned = true
		l.log.Warn("no ticks yet: too few nodes returned the state of the jobs, retrying", zap.Int("jobs", len(jobs)),
			zap.Error(problem))
	}
}

// reportSetBack reports that the nodes' clocks were set back. A new leader knows only how far the nodes' data is ahead of them.
func (l *loop) reportSetBack(by time.Duration) {
	l.ballot.setBack = true
	l.log.Warn("the nodes' clocks were set back: ticks follow them, and no tick that came before is started again",
		zap.Duration("by", by.Round(time.Millisecond)))
}

// reportZoneData reports that an earlier leader of a job had other zone data than this process: once for each zone.
func (l *loop) reportZoneData(j *job, s *jobstore.State) {
	zone, _ := cronspec.SplitPlan(j.plan)
	if slices.Contains(l.ballot.zones, zone) {
		return
	}
	l.ballot.zones = append(l.ballot.zones, zone)
	shown := j.schedule.Reading(s.Mark)
	l.log.Warn("replicas have different zone data, so their ticks differ: give all of them the same", zap.String("zone", zone),
		zap.String("job", j.Name), zap.Time("at", s.Mark), zap.String("here", shown.Format(time.DateTime)),
		zap.String("earlier_leader", s.Reading.Format(time.DateTime)))
}

// reportDataLost reports jobs that a majority of nodes has lost. Of some of them, no node knew what this process did.
func (l *loop) reportDataLost(jobs []string, fromHere int) {
	if len(jobs) == 0 {
		return
	}
	l.log.Error("a majority of nodes lost the state of jobs, their pauses and history may be gone",
		zap.Int("jobs", len(jobs)), zap.Int("known_only_here", fromHere), zap.String("names", firstOf(jobs)))
	for _, job := range jobs {
		l.s.hooks.dataLost(job)
	}
}

// firstOf lists the first few of some names.
func firstOf(jobs []string) string {
	const shown = 10
	names := strings.Join(jobs[:min(len(jobs), shown)], ", ")
	if more := len(jobs) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}
