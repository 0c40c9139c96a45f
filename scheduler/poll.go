package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// polls is the state of the polls by which the leader learns what people have set, and which nodes have lost their state.
type polls struct {
	running bool
	at      time.Time // when the next poll is due; zero: at once
	latest  map[int]int64
}

// poll starts a poll if one is due, and returns after which pause to call it again.
func (l *loop) poll() time.Duration {
	p := &l.polls
	if p.running || l.ballot.Ballot == "" || l.ballot.taking || l.ballot.fenced {
		return maxPoll
	}
	if pause := time.Until(p.at); pause > 0 {
		return pause
	}
	p.running, p.at = true, time.Now().Add(l.s.pollEvery())
	ballot, settled, latest, ctx := l.ballot.Ballot, l.isSettled(), p.latest, l.asking()
	l.work.Go(func() { // ends by a few node timeouts; lead waits for it
		found, err := l.s.store.Poll(ctx, ballot, settled, latest)
		var views []jobstore.View
		for jobs := range slices.Chunk(slices.Collect(maps.Keys(found.Changed)), jobstore.MaxJobs) {
			if err != nil {
				break
			}
			var some []jobstore.View
			some, _, _, err = l.s.store.Views(ctx, jobs...)
			views = append(views, some...)
		}
		l.inbox.post(func() { l.polled(found, views, err) })
	})
	return maxPoll
}

// polled applies what the nodes have answered.
func (l *loop) polled(found jobstore.Polled, views []jobstore.View, err error) {
	l.polls.running = false
	for _, v := range views {
		l.apply(l.entries[v.Job], jobmachine.Set{Pause: v.Pause, Trigger: v.Trigger})
	}
	if err == nil { // else the next poll finds the same again
		l.polls.latest = found.Latest
	}
	for _, node := range found.Heard {
		l.lacks.heard(node, l.s.pollEvery(), func(e *entry) { l.apply(e, jobmachine.Behind{}) })
	}
	l.wantFor(found.Unserved)
	if found.Fenced != nil && found.Fenced.Header.Leader.Token <= l.term.Token() { // by a leader before this one
		l.wantBallot(time.Now())
	}
	if len(found.Unserved) == 0 {
		l.ballot.inVain = 0
	}
}

// pollEvery bounds how long a node that has lost its state stays unnoticed, and a setting that nodes could not publish. It must be
// shorter than the pause between two nodes in a rolling restart: otherwise a majority would lose its state.
func (s *Scheduler) pollEvery() time.Duration {
	return min(s.elector.Locker().Settings().MaxTTL/3, maxPoll)
}
