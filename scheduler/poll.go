package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// polls is the state of the leader's polls. With them it learns of requests, and of nodes that have lost their state.
type polls struct {
	running bool
	ballot  jobstore.Ballot // of the last poll that a majority has answered; empty: a new job was not asked for
	at      time.Time       // when the next poll is due; zero: at once
	noticed bool            // a notice has set at
	pace    retry.Pace
	problem error // of the last one; nil: a majority has answered it
	unsure  int   // polls in a row that found a request which may be about to reach enough nodes, or that were the first ones and failed

	asked        map[string][]jobstore.Asked // by job, what the last poll has found
	lost         time.Time                   // by the nodes' clocks; see mayLack
	full         bool                        // the next poll waits for all nodes
	forget, keep []jobstore.Task             // requests that the next poll makes the nodes forget, or keep
}

// unsureBackoff spaces the polls for requests that are about to reach enough nodes.
var unsureBackoff = retry.Backoff{Min: 3 * time.Millisecond, Max: 5 * time.Second}

// newPolls returns polls that notices cause only at a pace: anybody with access to the nodes can publish any number of them.
func newPolls() polls { return polls{pace: retry.Pace{Burst: 3, Every: 10 * time.Millisecond}} }

// notice makes the next poll start soon, after a node has published a notice.
func (p *polls) notice() {
	if !p.noticed {
		p.noticed = true
		p.soon(p.pace.Next(time.Now()))
	}
}

func (p *polls) soon(pause time.Duration) {
	if at := time.Now().Add(pause); at.Before(p.at) {
		p.at = at
	}
}

// poll starts a poll if one is due, and returns the pause before the next call.
func (l *loop) poll() time.Duration {
	p := &l.polls
	if p.running || l.ballot.Ballot == "" || l.ballot.taking || l.ballot.fenced {
		return maxPoll
	}
	if pause := time.Until(p.at); pause > 0 {
		return pause
	}
	p.running, p.noticed, p.at = true, false, time.Now().Add(l.s.pollEvery())
	ballot, stage, quick, ctx := l.ballot.Ballot, l.stage(), !l.hasPolled() && !p.full, l.asking()
	forget, keep := p.forget, p.keep
	p.forget, p.keep = nil, nil // the next poll finds what a node has not forgotten or kept
	l.work.Go(func() {          // ends by the node timeout; lead waits for it
		found, err := l.s.store.Poll(ctx, ballot, stage, quick, forget, keep)
		l.inbox.post(func() { l.polled(ballot, found, err) })
	})
	return maxPoll
}

// hasPolled reports whether a majority has been asked for requests, under the present ballot and for all jobs. Nothing is written before
// that.
func (l *loop) hasPolled() bool { return l.polls.ballot == l.ballot.Ballot }

// pollFirst makes a poll precede the next write.
func (p *polls) pollFirst() { p.ballot, p.asked, p.at, p.unsure = "", nil, time.Time{}, 0 }

// mayLack reports whether the last poll, which did not wait for all nodes, may lack requests for a job. The nodes that have answered
// may have lost those made after the job was written.
func (p *polls) mayLack(e *entry) bool {
	written := e.machine.At().Ballot
	return e.machine.IsPrepared() && written != "" && written.Time().Before(p.lost)
}

// pollAll makes a poll of all nodes precede the next write.
func (p *polls) pollAll() {
	p.pollFirst()
	p.full, p.lost = true, time.Time{}
}

// polled applies the nodes' answers.
func (l *loop) polled(ballot jobstore.Ballot, found jobstore.Polled, err error) {
	p := &l.polls
	p.running, p.problem = false, err
	isFirst := !l.hasPolled()
	if err == nil {
		p.ballot, p.asked, p.lost, p.full = ballot, make(map[string][]jobstore.Asked), found.Lost, false
	}
	isUnsure := isFirst // the first one waits for a majority only
	for _, asked := range found.Asked {
		p.asked[asked.Job] = append(p.asked[asked.Job], asked)
		if e := l.entries[asked.Job]; e != nil && e.machine.IsPrepared() {
			isUnsure = l.take(e, asked) || isUnsure
			l.requeue(e)
		}
	}
	if p.unsure++; isUnsure {
		p.soon(unsureBackoff.After(p.unsure))
	} else {
		p.unsure = 0
	}
	if !p.lost.IsZero() {
		for _, e := range l.entries {
			if p.mayLack(e) {
				p.pollAll()
				break
			}
		}
	}
	for _, node := range found.Serving {
		l.lacks.answered(node, l.s.pollEvery(), func(e *entry) {
			if l.entries[e.job.Name] == e { // not removed; a new job of the same name has its own state
				l.apply(e, jobmachine.Behind{})
			}
		})
	}
	l.wantFor(found.Unserved, len(found.Serving) < l.s.parts.Quorum.Majority())
	if f := found.Fenced; f != nil && f.Header.Leader.Token <= l.term.Token() { // by an earlier leader
		l.wantBallot(l.ballot.demands.allows(f.Node))
	}
}

// take passes to a job what people want of it. isUnsure says that a request may be about to reach enough nodes.
func (l *loop) take(e *entry, asked jobstore.Asked) (isUnsure bool) {
	held, isLacking, ok := asked.Held(e.machine.At().Ballot)
	if ok {
		l.advance(e, jobmachine.Asked{Now: l.clock.now(), Request: held})
		state := e.machine.State()
		isApplied := state.Has(held)
		if e == l.all && !isApplied {
			l.passOn(held.Setting) // no tick of another job waits until this one is stored
		}
		switch {
		case isApplied && e.older: // nodes may forget it when a majority has stored that under this ballot
		case isApplied:
			l.forget(e, held)
		case isLacking:
			l.polls.keep = append(l.polls.keep, jobstore.Task{Job: e.job.Name, Request: held})
			l.polls.soon(forgetAfter)
		}
	}
	vain, isUnsure := asked.Vain(held.Mark)
	for _, r := range vain {
		l.forget(e, r)
	}
	return isUnsure
}

// forgetAfter is how long requests that are applied stay on the nodes, so that one poll makes the nodes forget many.
const forgetAfter = time.Second

// forget makes the nodes forget a request that is applied or in vain.
func (l *loop) forget(e *entry, r jobstore.Request) {
	l.polls.forget = append(l.polls.forget, jobstore.Task{Job: e.job.Name, Request: r})
	l.polls.soon(forgetAfter)
}

// pollEvery bounds how long a node that has lost its state, or a request that nodes could not publish, goes unnoticed.
// It must be shorter than the pause between two nodes in a rolling restart. Otherwise a majority would lose its state.
func (s *Scheduler) pollEvery() time.Duration {
	return min(s.elector.Locker().Settings().MaxTTL/3, maxPoll)
}
