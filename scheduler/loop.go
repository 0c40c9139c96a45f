package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/doing"
	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	// maxLook is how long a change of the nodes' clock stays unnoticed, at most.
	maxLook = 5 * time.Minute

	// maxReads is how many jobs are read at a time that people have set something of.
	maxReads = 64

	// patience is for what the leader writes about runs; a node timeout or two are usual.
	patience = 5 * time.Second
)

// again spaces what is tried again while nodes are away.
var again = retry.Backoff{Min: 50 * time.Millisecond, Max: time.Second}

// loop runs the ticks of one term.
type loop struct {
	s        *Scheduler
	term     *election.Term
	draining context.Context // done when nothing may start any more, at the latest with the term
	log      *zap.Logger
	clock    nodesClock       // of run's goroutine alone
	seen     register.Changes // the same
	began    time.Time        // by that clock
	noted    bool             // the nodes know when; of run's goroutine alone
	wake     chan struct{}    // holds one signal that the agenda has changed

	mu         sync.Mutex // guards the fields below, and all entries and lanes
	entries    map[string]*entry
	lanes      map[string]*lane // by name: of the jobs, and of those removed whose runs are under way
	agenda     agenda
	promises   map[int]string // the memories in which the nodes have promised, by node
	unsure     bool           // entries are there that the nodes have not promised
	promised   nodeSet        // the nodes that have promised for all jobs that are known; zero: to be found out
	completing bool           // nodes that were away are promising
	asking     bool           // claims are under way: what is due meanwhile is asked for together

	ends ledger

	work sync.WaitGroup // claims, and what follows from them
	runs sync.WaitGroup // one for each run under way
	done chan struct{}  // closed when all runs have returned and none will start
}

var errLoopEnded = errors.New("scheduler: the loop has ended by a panic or runtime.Goexit of a hook, the logger or a schedule")

// lead is the leader's callback. It returns when the runs of the term have: until then the elector
// renews the lease.
func (s *Scheduler) lead(ctx context.Context) {
	term, _ := election.TermFrom(ctx) // a callback's context has one
	l := &loop{
		s: s, term: term, draining: ctx,
		log:      s.log.With(zap.Uint64("term", term.Token())),
		clock:    nodesClock{locker: s.elector.Locker(), told: s.tellSkew},
		wake:     make(chan struct{}, 1),
		entries:  make(map[string]*entry),
		lanes:    make(map[string]*lane),
		promises: make(map[int]string),
		done:     make(chan struct{}),
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.loop = l
	}
	s.mu.Unlock()
	if closed { // after the term began
		term.Resign(errShutdown)
		return
	}

	doing.Naming(ctx) // the runs; what is written of them does no harm in a term that is over
	returned := false
	defer func() { // also where a hook, the logger or a schedule panics, or ends this goroutine: the lease is released afterwards
		if !returned {
			term.Resign(errLoopEnded)
		}
		l.work.Wait() // a tick that was won meanwhile is run
		l.runs.Wait()
		l.ends.writer.Wait()
		l.keep()
		close(l.done)
	}()
	l.run()
	returned = true
}

// keep notes what was asked for until the end of the term. Nodes may have voted for it and the answer been lost; this
// process knows that it was not started, so it may ask for it again, where the next leader must take it for lost.
func (l *loop) keep() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s.asked = make(map[*job][kinds]asking)
	for _, e := range l.entries {
		if asked := e.asked; asked != ([kinds]asking{}) {
			asked[takeOver] = asking{} // of which the nodes know
			for kind := range asked {
				asked[kind].since = time.Time{}
			}
			l.s.asked[e.job] = asked
		}
	}
}

// run is the only goroutine with a timer.
func (l *loop) run() {
	told, stop := l.s.elector.Locker().Listen(l.s.register.Channel())
	defer stop()
	l.began = l.clock.now()
	l.seen, _ = l.s.register.Changes(l.draining, nil) // the nodes tell of what is older when they promise
	l.sync()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer l.ends.hold(false)
	every := l.lookEvery()
	var looked time.Time // never: what was set while the nodes promised may have been told before anybody listened
	var ask time.Time    // when the nodes may be asked for promises again
	for failures := 0; ; {
		if l.isUnsure() && time.Until(ask) <= 0 {
			l.promise(l.clock.now())
			failures++
			ask = time.Now().Add(again.After(failures))
		}
		if time.Since(looked) >= every {
			l.look()
			l.note()
			looked = time.Now()
		}
		pause := min(l.step(l.clock.now()), every-time.Since(looked))
		if l.isUnsure() {
			pause = min(pause, time.Until(ask))
		} else {
			failures = 0
		}
		timer.Reset(pause)
		select {
		case <-l.draining.Done():
			return
		case <-l.s.changed:
			l.sync()
		case <-told:
			l.look()
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// lookEvery is how long a node that has forgotten stays unnoticed, and what people set, where nodes may not tell of
// it: shorter than what lies between two nodes in a rolling restart, or a quorum would have forgotten.
func (l *loop) lookEvery() time.Duration {
	return min(l.s.elector.Locker().Settings().MaxTTL/3, maxLook)
}

// rouse has the loop look at its agenda.
func (l *loop) rouse() {
	select {
	case l.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (l *loop) isUnsure() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unsure
}

// after has an entry on the agenda again after a pause.
func (l *loop) after(pause time.Duration, e *entry) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.draining.Done():
		return
	}
	l.mu.Lock()
	e.busy = false
	if l.entries[e.job.Name] == e {
		l.agenda.put(e)
	}
	l.mu.Unlock()
	l.rouse()
}

// sync has an entry for each job.
func (l *loop) sync() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, e := range l.entries {
		if l.s.jobs[name] != e.job {
			l.agenda.remove(e)
			delete(l.entries, name)
			l.promised = 0
		}
	}
	for name, j := range l.s.jobs {
		if l.entries[name] == nil {
			asked, carried := l.s.asked[j]
			l.entries[name] = &entry{job: j, lane: l.laneLocked(name), index: -1, asked: asked, carried: carried}
			l.unsure = true
		}
	}
	maps.DeleteFunc(l.lanes, func(name string, lane *lane) bool { return l.entries[name] == nil && lane.isIdle() })
}

// fenced ends the term: somebody was promised a larger token, so no tick will be won with this one; the
// next lease's is above both.
func (l *loop) fenced(token uint64) {
	l.s.hooks.fenced(l.term.Token(), token)
	e := l.s.elector
	err := e.Locker().Raise(l.draining, election.LockName(e.Name()), token)
	cause := fmt.Errorf("scheduler: token %d was promised, %d is fenced", token, l.term.Token())
	l.term.Resign(errors.Join(cause, err))
}

// look finds what people have set since, and nodes that have forgotten.
func (l *loop) look() {
	found, err := l.s.register.Changes(l.draining, l.seen.Latest)
	if err != nil {
		return // the next look is soon; without a quorum nothing is claimed anyway
	}
	for node, memory := range found.Memories {
		if before, ok := l.seen.Memories[node]; ok && before != memory {
			l.mu.Lock()
			l.forgetLocked()
			l.mu.Unlock()
		}
	}
	l.complete(found.Memories, l.clock.now())
	maps.DeleteFunc(found.Versions, func(job string, version int64) bool { return version == l.seen.Versions[job] })
	allRead := true
	for jobs := range slices.Chunk(slices.Collect(maps.Keys(found.Versions)), maxReads) {
		allRead = l.read(jobs) && allRead
	}
	maps.Copy(l.seen.Memories, found.Memories) // a node that has not answered is still known
	if allRead {                               // else the next look finds them again
		maps.Copy(l.seen.Versions, found.Versions)
		maps.Copy(l.seen.Latest, found.Latest)
	}
}

// read takes over what was set of some jobs. false: of one too few nodes have told.
func (l *loop) read(jobs []string) bool {
	var failed atomic.Bool
	var reads sync.WaitGroup
	for _, job := range jobs { // ticks wait: for one round trip, not for one of each
		reads.Go(func() { // ends by the node timeout
			v, err := l.s.register.Read(l.draining, job)
			l.mu.Lock()
			defer l.mu.Unlock()
			if e := l.entries[job]; e != nil && err == nil && e.known {
				e.set(v.Pause, v.Trigger)
				l.agenda.put(e)
			}
			if err != nil && !errors.Is(err, register.ErrUnknown) {
				failed.Store(true)
			}
		})
	}
	reads.Wait()
	return !failed.Load()
}
