package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// polls is the state of the leader's polls. With them it learns of pauses and triggers, and of nodes that have lost their state.
type polls struct {
	running bool
	done    bool      // a majority has answered: what people had asked for before the term is known
	at      time.Time // when the next poll is due; zero: at once
	noticed bool      // a notice has set at
	pace    retry.Pace
	unsure  int // polls in a row that found a request which may be about to reach enough nodes, or that were the first ones and failed
	vain    []jobstore.Vain
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
	ballot, settled, quick, vain, ctx := l.ballot.Ballot, l.isSettled(), !p.done, p.vain, l.asking()
	l.work.Go(func() { // ends by the node timeout; lead waits for it
		found, err := l.s.store.Poll(ctx, ballot, settled, quick, vain)
		l.inbox.post(func() { l.polled(found, err) })
	})
	return maxPoll
}

// polled applies the nodes' answers.
func (l *loop) polled(found jobstore.Polled, err error) {
	p := &l.polls
	p.running, p.vain = false, nil
	if p.unsure++; !found.Unsure && p.done {
		p.unsure = 0
	} else { // also after the first one, which waits for a majority only, and until it is answered
		p.soon(unsureBackoff.After(p.unsure))
	}
	p.done = p.done || err == nil
	for _, v := range found.Vain {
		// Nodes may have deleted a request because of a write that failed later, and a leader without the job has not asked for all.
		if e := l.entries[v.Job]; e != nil && e.machine.IsPrepared() && e.machine.Failures() == 0 {
			p.vain = append(p.vain, v)
		}
	}
	for _, asked := range found.Asked {
		e := l.entries[asked.Job]
		l.apply(e, jobmachine.Set{Pause: asked.Pause, Trigger: asked.Trigger, Cancel: asked.Cancel, Reruns: asked.Reruns})
		for _, r := range asked.Reruns {
			if e != nil && e.machine.HasRerun(r) {
				p.vain = append(p.vain, asked.Rerun(r))
			}
		}
		if e != nil && asked.Cancel.Version != 0 {
			if newest, applied := e.machine.Cancel(); applied && !asked.Cancel.IsNewer(newest) {
				p.vain = append(p.vain, asked.Canceled())
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

// pollEvery bounds how long a node that has lost its state, or a request that nodes could not publish, goes unnoticed.
// It must be shorter than the pause between two nodes in a rolling restart. Otherwise a majority would lose its state.
func (s *Scheduler) pollEvery() time.Duration {
	return min(s.elector.Locker().Settings().MaxTTL/3, maxPoll)
}
