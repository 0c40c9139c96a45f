package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxOwn is how many ballots a term remembers as its own. That is ample: a node serves one of the last two.
const maxOwn = 16

// ballot is the number under which the leader writes. The leader takes a larger one when a node has lost its state, because such
// a node serves only ballots that are taken after the loss.
type ballot struct {
	jobstore.Ballot
	own       []jobstore.Ballot // the newest ballots that this term has taken
	promised  []jobstore.Ballot // those of them that a majority is known to have promised
	epoch     int               // of the next ballot
	above     time.Time         // the next ballot's instant, by the nodes' clock, must be after this one
	wanted    time.Time         // when the leader needs a larger ballot; zero: it does not
	taking    bool              // the nodes are being asked to promise a ballot; no write is under way meanwhile
	notBefore time.Time         // when the next ballot may be taken
	failures  int               // ballots in a row that too few nodes promised
	problem   error             // why
	demands   demands
	taken     time.Time       // when the last ballot was taken
	older     int             // jobs not yet written under the present ballot
	warned    bool            // the log says that too few nodes promise
	before    jobstore.Header // of the last leader before this term
	began     time.Time       // when a majority promised the first ballot, by the nodes' clock
	fenced    bool            // the nodes have promised a later leader a larger ballot: nothing can be written any more
	setBack   bool            // the log says that the nodes' clocks were set back
	zones     []string        // of which the log says that an earlier leader had other data
}

// takeBallot asks the nodes to promise a new ballot if one is wanted, and returns the pause before the next call. It waits until no
// write is under way, because nodes that have promised a larger ballot would refuse the write.
func (l *loop) takeBallot(now time.Time) time.Duration {
	b := &l.ballot
	if b.wanted.IsZero() && b.Ballot != "" || b.taking || b.fenced || l.prepares.areRunning() || !l.term.Valid() {
		return maxPoll
	}
	if pause := time.Until(latest(b.wanted, b.notBefore)); pause > 0 {
		return pause
	}
	if l.writes.calls > 0 {
		return maxPoll // the answer wakes the loop
	}
	at := now
	if ahead := b.above.Sub(at); ahead >= 0 && ahead <= jobstore.Ahead { // no majority has promised one that is further ahead
		at = b.above.Add(time.Microsecond)
	}
	taken := jobstore.NewBallot(b.epoch, at)
	b.taking, b.wanted = true, time.Time{}
	b.own = remember(b.own, taken)
	b.demands.taken()
	b.taken = time.Now()
	leader := jobstore.Leader{Token: l.term.Token(), Replica: l.s.elector.Identity()}
	ctx := context.WithoutCancel(l.stopping) // a stop must not cancel this: nodes that promise this ballot take the last writes only under it
	l.work.Go(func() {                       // ends by the node timeout; lead waits for it
		promises, err := l.s.store.Prepare(ctx, taken, leader, nil)
		l.inbox.post(func() { l.promised(taken, promises, err) })
	})
	return maxPoll
}

// readAgain takes a ballot by the present clock, under which all jobs are read again.
func (l *loop) readAgain() {
	l.ballot.promised = nil
	l.wantBallot(time.Now())
}

// remember appends a ballot and keeps the newest maxOwn.
func remember(ballots []jobstore.Ballot, b jobstore.Ballot) []jobstore.Ballot {
	return append(ballots[max(0, len(ballots)-maxOwn+1):], b)
}

// promised switches to a ballot that a majority has promised. If that majority has lost nothing since the last ballot, all jobs
// are as they were last stored. Otherwise the nodes are asked for them again. Only ballots with a known majority count as the last
// one: if promises were not received, another leader's ballot may have come in between unnoticed.
func (l *loop) promised(taken jobstore.Ballot, promises []jobstore.Promise, err error) {
	b := &l.ballot
	b.taking = false
	epoch := max(b.epoch, l.s.store.Epoch(taken, promises))
	isLarger := epoch > b.epoch
	b.epoch = epoch
	if err != nil {
		l.notPromised(err, isLarger)
		return
	}
	continues := b.Ballot != "" && l.s.store.Continues(promises, b.promised)
	b.promised = remember(b.promised, taken)
	if b.Ballot == "" {
		b.before, b.began = lastLeader(promises), l.clock.now()
	}
	b.Ballot, b.failures, b.warned, b.older = taken, 0, false, len(l.entries)
	l.writes.seq = 0
	l.polls.pollFirst()
	if !continues {
		l.prepares.waiting = nil
	}
	for _, e := range l.entries {
		e.older = true
		if !continues {
			l.apply(e, jobmachine.Unprepared{})
			l.prepares.add(e, l.clock.latest)
		} else if e.machine.IsPrepared() {
			l.apply(e, jobmachine.Behind{}) // write the state back to nodes that lost it
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

// stage returns whether all jobs are known, and written under the present ballot. It uses a counter, since each poll calls it
// and a leader may have a million jobs.
func (l *loop) stage() jobstore.Stage {
	switch {
	case l.ballot.older != 0:
		return jobstore.Writing
	case slices.ContainsFunc(l.sources, (*entry).isUnloaded):
		return jobstore.Loading
	}
	return jobstore.Settled
}

// notPromised schedules another attempt, at once if the next ballot is of a larger epoch. It ends the term if the nodes serve a later
// leader.
func (l *loop) notPromised(err error, isLarger bool) {
	b := &l.ballot
	if l.isFenced(err) {
		return
	}
	if isLarger {
		l.wantBallot(time.Now())
		return
	}
	b.failures++
	b.problem = err
	if !b.warned && l.stopping.Err() == nil {
		b.warned = true
		l.log.Warn("no ticks: too few nodes serve this leader, retrying", zap.Error(err))
	}
	b.notBefore = time.Now().Add(backoff.After(b.failures))
	l.wantBallot(time.Now())
}

// isBallotDue reports whether a larger ballot must be taken as soon as no write is under way. Without a lease the leader takes
// none, because it would be larger than the next leader's. Its last writes go to the nodes that still serve the present ballot.
func (l *loop) isBallotDue() bool {
	b := &l.ballot
	return !b.wanted.IsZero() && time.Until(latest(b.wanted, b.notBefore)) <= 0 && !l.prepares.areRunning() && l.term.Valid()
}

// wantBallot schedules a larger ballot, unless one is scheduled for an earlier instant.
func (l *loop) wantBallot(at time.Time) {
	if b := &l.ballot; b.wanted.IsZero() || at.Before(b.wanted) {
		b.wanted = at
	}
}

// wantFor schedules a larger ballot for nodes that serve no smaller one. isNeeded says that no majority serves this leader without
// them, so that nothing ticks. The pace of [demands] does not apply then. The ballot only waits until the node can serve it, and
// until [jobstore.Ahead] after the last one.
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

// isFenced reports whether the nodes serve a later leader, or another loop in this term, and ends the term in that case. If they
// serve an earlier leader, whose token is smaller, this leader can go on with a larger ballot.
func (l *loop) isFenced(err error) bool {
	short, ok := errors.AsType[*quorum.Shortfall](err)
	if !ok || !errors.Is(short.Kind, jobstore.ErrFenced) {
		return false
	}
	var h jobstore.Header // of the last leader
	for _, node := range short.Nodes {
		fenced, ok := errors.AsType[*jobstore.FencedError](node.Err)
		if ok && fenced.Header.Leader.Token >= h.Leader.Token && l.s.parts.Believes(fenced.Header.Leader.Token) {
			h = fenced.Header
			l.ballot.above = latest(l.ballot.above, h.Promised.Time())
		}
	}
	if slices.Contains(l.ballot.own, h.Promised) || h.Leader.Token < l.term.Token() {
		return false
	}
	if l.ballot.fenced {
		return true
	}
	l.ballot.fenced = true
	l.s.hooks.fenced(l.term.Token(), h.Leader.Token)
	cause := fmt.Errorf("scheduler: the nodes serve %q with term %d, this is term %d", h.Leader.Replica, h.Leader.Token,
		l.term.Token())
	if h.Leader.Token == l.term.Token() {
		cause = fmt.Errorf("scheduler: the nodes serve another scheduler, of %q, in this term %d: an election has one scheduler",
			h.Leader.Replica, h.Leader.Token)
	}
	l.work.Go(func() { // raises the next lease's token above both; ends by the node timeout; lead waits for it
		err := l.s.parts.Raise(l.stopping, inside.ElectionLock(l.s.elector.Name()), h.Leader.Token)
		l.term.Resign(errors.Join(cause, err))
	})
	return true
}

// isKind reports whether kind is the outcome of a whole call. Single nodes may have answered something else.
func isKind(err, kind error) bool {
	short, ok := errors.AsType[*quorum.Shortfall](err)
	return ok && errors.Is(short.Kind, kind)
}

// lastLeader returns what the nodes say of the leader that they have promised the largest ballot to.
func lastLeader(promises []jobstore.Promise) (h jobstore.Header) {
	for _, p := range promises {
		switch other := p.Previous; {
		case p.Err != nil:
		case other.Promised > h.Promised:
			h = other
		case other.Promised == h.Promised:
			h.Alive = latest(h.Alive, other.Alive)
		}
	}
	return h
}

// absence returns why ticks that came before this term have not run. at is the position of the job's state.
func (b *ballot) absence(at jobstore.At) string {
	const layout = time.DateTime
	last, began := b.before.Alive, b.began.Format(layout)
	switch {
	case last.IsZero() || last.After(b.began):
		return "no leader until " + began
	case b.before.Stage == jobstore.Settled && at.Ballot != "" && at.Ballot < b.before.Promised: // it had written all of its jobs
		return fmt.Sprintf("%s led until %s, and did not have the job", b.before.Leader.Replica, last.Format(layout))
	}
	return "no leader from " + last.Format(layout) + " to " + began
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
