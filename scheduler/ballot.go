package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxOwn is how many ballots a term remembers as its own: a node serves one of the last two.
const maxOwn = 16

// ballot is the number under which the leader writes. The leader takes a larger one when a node has lost its state, because such
// a node serves only ballots that are taken later.
type ballot struct {
	jobstore.Ballot
	own       []jobstore.Ballot // the newest that this term has taken
	promised  []jobstore.Ballot // the newest of these that a majority has promised, as this term knows
	id        string            // random digits of this term, for the names of its runs
	above     time.Time         // the next one is taken after this instant of the nodes' clock
	wanted    time.Time         // when the leader needs a larger one; zero: it does not
	taking    bool              // the nodes are being asked to promise one; no write is under way meanwhile
	notSooner time.Time         // the next one is not taken before
	failures  int               // in a row
	demands   demands           // of nodes
	taken     time.Time         // when the last one was taken
	older     int               // jobs that are not written under it yet
	warned    bool              // the log says that the nodes do not promise
	absence   string            // why ticks before this term have not run
	fenced    bool              // the nodes have promised a later leader a larger one: nothing can be written any more
}

// takeBallot asks the nodes to promise a ballot if one is wanted, and returns after which pause to call it again. It takes none
// while writes are under way: nodes that promise a larger one would refuse them.
func (l *loop) takeBallot(now time.Time) time.Duration {
	b := &l.ballot
	if b.wanted.IsZero() && b.Ballot != "" || b.taking || b.fenced || l.prepares.areRunning() || !l.term.Valid() {
		return maxPoll
	}
	if pause := time.Until(latest(b.wanted, b.notSooner)); pause > 0 {
		return pause
	}
	if l.writes.calls > 0 {
		return maxPoll // the answer wakes the loop
	}
	at := now
	if !at.After(b.above) {
		at = b.above.Add(time.Microsecond)
	}
	taken := jobstore.NewBallot(at)
	b.taking, b.wanted = true, time.Time{}
	if b.id == "" {
		b.id = taken.ID()
	}
	b.own = remember(b.own, taken)
	b.demands.taken()
	b.taken = time.Now()
	leader := jobstore.Leader{Token: l.term.Token(), Replica: l.s.elector.Identity()}
	ctx := context.WithoutCancel(l.stopping) // nodes that promise it take the last writes only under it
	l.work.Go(func() {                       // ends by the node timeout; lead waits for it
		promises, err := l.s.store.Prepare(ctx, taken, leader, nil)
		l.inbox.post(func() { l.promised(taken, promises, err) })
	})
	return maxPoll
}

// remember adds a ballot, and keeps the newest.
func remember(ballots []jobstore.Ballot, b jobstore.Ballot) []jobstore.Ballot {
	return append(ballots[max(0, len(ballots)-maxOwn+1):], b)
}

// promised goes on under a ballot that a majority has promised. If that majority has lost nothing since the last ballot, all jobs
// are as they were last stored. Otherwise the nodes are asked for them again. Ballots for which no majority was heard do not count
// here: a node may have promised one after that of another leader, and nobody heard of that.
func (l *loop) promised(taken jobstore.Ballot, promises []jobstore.Promise, err error) {
	b := &l.ballot
	b.taking = false
	if err != nil {
		l.notPromised(err)
		return
	}
	continues := b.Ballot != "" && l.s.store.Continues(promises, b.promised)
	b.promised = remember(b.promised, taken)
	if b.Ballot == "" {
		b.absence = absence(promises, l.clock.now())
	}
	b.Ballot, b.failures, b.warned, b.older = taken, 0, false, len(l.entries)
	l.writes.seq = 0
	if !continues {
		l.prepares.waiting = nil
	}
	for _, e := range l.entries {
		switch {
		case l.drained && !l.isBusy(e):
			if continues && e.machine.IsPrepared() { // nothing is opened, and nodes that lost their state get it back
				l.apply(e, jobmachine.Drain{})
				l.apply(e, jobmachine.Behind{})
			}
		case !continues:
			l.apply(e, jobmachine.Unprepared{})
			l.prepares.waiting = append(l.prepares.waiting, e)
		case e.machine.IsPrepared():
			l.apply(e, jobmachine.Behind{}) // nodes that lost their state get it back
		}
	}
	var unserved []*jobstore.UnservedError
	for _, p := range promises {
		if e, ok := errors.AsType[*jobstore.UnservedError](p.Err); ok {
			e.Node = p.Node
			unserved = append(unserved, e)
		}
	}
	l.wantFor(unserved, false)
}

// isSettled reports whether all jobs are written under the present ballot. They are counted: it is asked with each poll, and a
// leader may have a million.
func (l *loop) isSettled() bool { return l.ballot.older == 0 }

func (l *loop) isOlder(e *entry) bool { return e.at.Ballot != l.ballot.Ballot }

// setAt sets the place of a job's last stored state.
func (l *loop) setAt(e *entry, at jobstore.At) {
	was := l.isOlder(e)
	e.at = at
	if l.entries[e.job.Name] != e { // removed: it counts no more
		return
	}
	switch is := l.isOlder(e); {
	case was && !is:
		l.ballot.older--
	case is && !was:
		l.ballot.older++
	}
}

// notPromised tries again, or ends the term if another leader is why.
func (l *loop) notPromised(err error) {
	b := &l.ballot
	if l.isFenced(err) {
		return
	}
	b.failures++
	if !b.warned && l.stopping.Err() == nil {
		b.warned = true
		l.log.Warn("no ticks: too few nodes serve this leader, retrying", zap.Error(err))
	}
	b.notSooner = time.Now().Add(backoff.After(b.failures))
	l.wantBallot(time.Now())
}

// isBallotDue reports that a larger ballot must be taken as soon as no write is under way. Without a lease none may be
// taken: it would be larger than that of the next leader. The last writes go to the nodes that still serve the present one.
func (l *loop) isBallotDue() bool {
	b := &l.ballot
	return !b.wanted.IsZero() && time.Until(latest(b.wanted, b.notSooner)) <= 0 && !l.prepares.areRunning() && l.term.Valid()
}

// wantBallot notes when a larger ballot must be taken.
func (l *loop) wantBallot(at time.Time) {
	if b := &l.ballot; b.wanted.IsZero() || at.Before(b.wanted) {
		b.wanted = at
	}
}

// wantFor notes that nodes serve only a larger ballot. isNeeded says that without them no majority serves this leader, so that
// nothing ticks: then no pace holds up the next ballot, but the time that a node needs until it can serve one.
func (l *loop) wantFor(unserved []*jobstore.UnservedError, isNeeded bool) {
	for _, e := range unserved {
		at := time.Now()
		if from := e.ServesFrom(); !from.IsZero() {
			at = at.Add(from.Sub(l.clock.now()) + 100*time.Millisecond)
		}
		if isNeeded {
			at = latest(at, l.ballot.taken.Add(jobstore.Ahead))
		} else {
			at = latest(at, l.ballot.demands.allows(e.Node))
		}
		l.wantBallot(at)
	}
}

// isFenced reports whether the nodes serve a later leader, and ends the term in that case. If they serve an earlier one, whose
// token is not larger, this leader can go on with a ballot above it.
func (l *loop) isFenced(err error) bool {
	short, ok := errors.AsType[*quorum.Shortfall](err)
	if !ok || !errors.Is(short.Kind, jobstore.ErrFenced) {
		return false
	}
	var h jobstore.Header // of the last leader
	for _, node := range short.Nodes {
		fenced, ok := errors.AsType[*jobstore.FencedError](node.Err)
		if ok && fenced.Header.Leader.Token >= h.Leader.Token && l.s.elector.Locker().Believes(fenced.Header.Leader.Token) {
			h = fenced.Header
			l.ballot.above = latest(l.ballot.above, h.Promised.Time())
		}
	}
	if slices.Contains(l.ballot.own, h.Promised) || h.Leader.Token <= l.term.Token() {
		return false
	}
	if l.ballot.fenced {
		return true
	}
	l.ballot.fenced = true
	l.s.hooks.fenced(l.term.Token(), h.Leader.Token)
	cause := fmt.Errorf("scheduler: %q was promised the jobs with term %d, this is term %d", h.Leader.Replica, h.Leader.Token,
		l.term.Token())
	l.work.Go(func() { // ends by the node timeout; lead waits for it. The next lease's token is above both
		e := l.s.elector
		err := e.Locker().Raise(l.stopping, election.LockName(e.Name()), h.Leader.Token)
		l.term.Resign(errors.Join(cause, err))
	})
	return true
}

// isKind reports whether kind is the outcome of a call as a whole; single nodes may have answered something else.
func isKind(err, kind error) bool {
	short, ok := errors.AsType[*quorum.Shortfall](err)
	return ok && errors.Is(short.Kind, kind)
}

// absence returns why ticks that came before a term have not run.
func absence(promises []jobstore.Promise, now time.Time) string {
	var last time.Time
	for _, p := range promises {
		if p.Err == nil {
			last = latest(last, p.Previous.Alive)
		}
	}
	const layout = time.DateTime
	if last.IsZero() {
		return "no leader until " + now.Format(layout)
	}
	return "no leader from " + last.Format(layout) + " to " + now.Format(layout)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// keepUnstarted notes the runs that the nodes may have as open although this process did not start them. Its next term starts
// them; any other leader must take them for lost.
func (l *loop) keepUnstarted() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.unstarted == nil {
		l.s.unstarted = make(map[string][]string)
	}
	for _, e := range l.entries {
		if ids := e.machine.Unstarted(); len(ids) > 0 {
			l.s.unstarted[e.job.Name] = ids
		}
	}
}
