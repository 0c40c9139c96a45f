package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxUnsure bounds how long a new leader waits for nodes that may show that a run of the leader before has not started.
const maxUnsure = 2 * time.Second

// maxPrepares bounds the calls under way: the nodes work while the leader reads what they have answered.
const maxPrepares = 2

// prepares has the jobs of which nothing is opened until the nodes have said what they know of them.
type prepares struct {
	waiting  []*entry
	batch    []*entry  // of those that waited when the last call before had ended, the rest
	calls    int       // under way
	at       time.Time // no batch before
	failures int       // in a row
	warned   bool
}

func (p *prepares) areRunning() bool { return p.calls > 0 || len(p.batch) > 0 }

// sync applies jobs that were added and removed.
func (l *loop) sync() {
	for name, j := range l.s.takeChanges() {
		e := l.entries[name]
		switch {
		case j == nil && e != nil:
			l.apply(e, jobmachine.Removed{})
		case j == nil || l.drained && e == nil:
		case e == nil:
			e = &entry{job: j, machine: jobmachine.New(&j.machine), index: -1}
			l.entries[name] = e
			if l.isOlder(e) {
				l.ballot.older++
			}
			l.prepares.waiting = append(l.prepares.waiting, e)
		default:
			before := e.job.schedule
			e.job = j
			l.apply(e, jobmachine.Added{Job: &j.machine, Before: before})
		}
	}
}

// prepare asks the nodes what they know of the jobs that wait for that, and returns after which pause to call it again.
func (l *loop) prepare(now time.Time) time.Duration {
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
			soonestFirst(p.batch, now)
		}
	}
	for len(p.batch) > 0 && p.calls < maxPrepares {
		n := min(len(p.batch), jobstore.MaxJobs)
		l.askFor(p.batch[:n])
		p.batch = p.batch[n:]
	}
	return maxPoll
}

// askFor asks the nodes what they know of some jobs.
func (l *loop) askFor(jobs []*entry) {
	l.prepares.calls++
	names := make([]string, len(jobs)) // the call reads these, and only the loop the jobs
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

// soonestFirst sorts jobs by their next tick: with very many jobs the last are ready seconds after the first.
func soonestFirst(jobs []*entry, now time.Time) {
	next := make(map[*entry]time.Time, len(jobs))
	for _, e := range jobs {
		next[e] = e.job.schedule.Next(now)
		if next[e].IsZero() { // it has no tick any more
			next[e] = now.AddDate(100, 0, 0)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *entry) int { return next[a].Compare(next[b]) })
}

// prepared applies what the nodes know of some jobs.
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
	var problem error
	for i, e := range jobs {
		if l.entries[e.job.Name] != e {
			continue // it was removed meanwhile
		}
		basis, err := l.s.store.Decide(promises, i)
		if err != nil || l.waits(basis, now) {
			problem, late = cmp.Or(err, problem), append(late, e)
			continue
		}
		if e.at.IsAfter(basis.At) { // this term has stored a newer state, and nobody else has written since
			basis.Known, basis.At, basis.State = true, e.at, e.machine.State()
		}
		l.setAt(e, basis.At)
		if !basis.Known && l.s.hasSeen(e.job.Name) {
			basis.Lost = true
		}
		if basis.Lost {
			lost = append(lost, e.job.Name)
		}
		l.begin(e, basis, now)
	}
	l.reportDataLost(lost)
	if len(late) > 0 {
		l.notPrepared(late, problem)
		return
	}
	l.prepares.failures, l.prepares.warned = 0, false
}

// begin lets a job tick, from what the nodes know of it.
func (l *loop) begin(e *entry, basis jobstore.Basis, now time.Time) {
	unstarted := l.s.takeUnstarted(e.job.Name)
	event := jobmachine.Prepared{Now: now, Basis: basis, Absence: l.ballot.absence, Unstarted: unstarted}
	if basis.Known && basis.State.Plan != e.job.plan {
		if before, err := Parse(basis.State.Plan, nil); err == nil {
			event.Before = before
		}
		l.log.Info("the job's spec or zone has changed: its ticks begin now", zap.String("job", e.job.Name),
			zap.String("before", basis.State.Plan), zap.String("now", e.job.plan))
	}
	l.s.see(e.job.Name)
	l.advance(e, event)
	if l.drained {
		l.place(e)
	} else { // very many come at once, and none of them is to hold up a tick
		l.fresh.push(e)
	}
}

// waits reports whether to wait for nodes that have not answered. They may know more of a job than nodes that lost their state not
// long ago: then the wait is as long as the guard. Or they may show that a run has not started: then it is maxUnsure.
func (l *loop) waits(b jobstore.Basis, now time.Time) bool {
	if b.Unsure && now.Before(l.ballot.Time().Add(maxUnsure)) {
		return true
	}
	guard := l.s.elector.Locker().Settings().MaxTTL
	return !b.Floor.IsZero() && !b.Complete && now.Before(b.Floor.Add(-jobstore.Ahead).Add(guard))
}

// notPrepared schedules another attempt.
func (l *loop) notPrepared(jobs []*entry, problem error) {
	p := &l.prepares
	p.failures++
	p.at = time.Now().Add(backoff.After(p.failures))
	p.waiting = append(p.waiting, jobs...)
	if problem != nil && !p.warned && l.stopping.Err() == nil {
		p.warned = true
		l.log.Warn("no ticks yet: too few nodes say what they know of the jobs, retrying", zap.Int("jobs", len(jobs)),
			zap.Error(problem))
	}
}

// reportDataLost reports jobs that a majority has lost.
func (l *loop) reportDataLost(jobs []string) {
	if len(jobs) == 0 {
		return
	}
	const shown = 10
	names := strings.Join(jobs[:min(len(jobs), shown)], ", ")
	if more := len(jobs) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	l.log.Error("a majority of nodes lost its data of jobs, their pauses and history may be gone",
		zap.Int("jobs", len(jobs)), zap.String("names", names))
	for _, job := range jobs {
		l.s.hooks.dataLost(job)
	}
}
