package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// polls is the state of the leader's polls. With them it learns of pauses and triggers, and of nodes that have lost their state.
type polls struct {
	running bool
	at      time.Time // when the next poll is due; zero: at once
	latest  map[int]int64
	noticed bool           // a notice has set at
	pace    retry.Pace     // limits polls caused by notices: anybody with access to the nodes can publish any number of them
	doubts  map[string]int // by job: how often it was read again because a node has a newer setting than the quorum
}

// maxDoubts bounds how often a job is read again, over about ten seconds. A setting that has not reached enough nodes by then
// was not stored.
const maxDoubts = 12

var doubtBackoff = retry.Backoff{Min: 3 * time.Millisecond, Max: 5 * time.Second}

func newPolls() polls {
	return polls{pace: retry.Pace{Burst: 3, Every: 10 * time.Millisecond}, doubts: make(map[string]int)}
}

// notice makes the next poll start soon, after a node has published a notice.
func (p *polls) notice() {
	if !p.noticed {
		p.noticed = true
		p.soon(p.pace.Next(time.Now()))
	}
}

// doubt makes the next poll read a job again.
func (p *polls) doubt(job string) {
	if _, is := p.doubts[job]; !is {
		p.doubts[job] = 0
		p.soon(0)
	}
}

// read schedules another read of a job that was read for the n-th time, if a node has a newer setting than the quorum: the other
// nodes may be about to get it.
func (p *polls) read(v *jobstore.View, n int) {
	if v.Unsure && n <= maxDoubts {
		p.doubts[v.Job] = n
		p.soon(doubtBackoff.After(n))
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
	doubts := p.doubts
	p.doubts = make(map[string]int)
	ballot, settled, latest, ctx := l.ballot.Ballot, l.isSettled(), p.latest, l.asking()
	l.work.Go(func() { // ends by a few node timeouts; lead waits for it
		found, err := l.s.store.Poll(ctx, ballot, settled, latest)
		var views []jobstore.View
		for job := range doubts {
			found.Changed[job] = true
		}
		for jobs := range slices.Chunk(slices.Collect(maps.Keys(found.Changed)), jobstore.MaxJobs) {
			if err != nil {
				break
			}
			var some []jobstore.View
			some, err = l.s.store.ViewsOfAll(ctx, jobs...)
			views = append(views, some...)
		}
		l.inbox.post(func() { l.polled(found, doubts, views, err) })
	})
	return maxPoll
}

// polled applies the nodes' answers. doubts are the jobs that were read again.
func (l *loop) polled(found jobstore.Polled, doubts map[string]int, views []jobstore.View, err error) {
	l.polls.running = false
	for _, v := range views {
		l.apply(l.entries[v.Job], jobmachine.Set{Pause: v.Pause, Trigger: v.Trigger})
		l.polls.read(&v, doubts[v.Job]+1)
	}
	if err == nil {
		l.polls.latest = found.Latest
		if found.More {
			l.polls.notice()
		}
	} else { // the next poll finds the same changes again, but not the doubts
		maps.Copy(l.polls.doubts, doubts)
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

// pollEvery bounds how long a node that has lost its state, or a setting that nodes could not publish, goes unnoticed.
// It must be shorter than the pause between two nodes in a rolling restart. Otherwise a majority would lose its state.
func (s *Scheduler) pollEvery() time.Duration {
	return min(s.elector.Locker().Settings().MaxTTL/3, maxPoll)
}
