package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	// jitter spreads the attempts of processes that wait for the same guard to end, or for the same lost messages. If they
	// all asked at the same moment, they would split the votes.
	jitter = 20 * time.Millisecond
	// messageInterval and messageBurst limit the attempts that messages can cause: anybody who may publish can send any
	// number of messages.
	messageInterval = 10 * time.Millisecond
	messageBurst    = 2
	// confirmAfter is the delay after which a holder named by only one node is confirmed with all nodes. A shorter hold
	// is over by then.
	confirmAfter = 500 * time.Millisecond
	// mostPatience is the longest that a process promises to be in line.
	mostPatience = 24 * time.Hour
)

// whom says which nodes an attempt asks first.
type whom int

const (
	theLine   whom = iota // those that keep the line: the others matter only if one of these cannot tell who has the lock
	oneOfLine             // one of those, to find out whether a confirmed hold goes on
	everybody
)

// wait is one Acquire that waits in line. It belongs to one goroutine.
type wait struct {
	request
	hold
	locker   *Locker
	value    value
	order    []int // in which nodes are asked
	line     []int // nodes that keep the line
	messages <-chan *message
	missed   int64      // queues.missed at the start of the last attempt
	next     whom       // whom the next attempt asks first
	failures int        // attempts in a row that did not learn the holder
	heard    message    // the last release
	pace     retry.Pace // of attempts that messages cause
}

func newWait(l *Locker, r request, t *ticket) *wait {
	w := &wait{
		request: r, locker: l, value: value{contender: newContenderID(), text: r.text}, messages: t.queue.messages,
		pace: retry.Pace{Burst: messageBurst, Every: messageInterval},
	}
	if !t.behind && !l.queues.othersWait(r.name) {
		w.next = everybody
	}
	w.order = order(l.quorum, r.name)
	return w
}

// acquire repeats attempts until one succeeds, success is impossible, or ctx is done.
func (w *wait) acquire(ctx context.Context) (*Lease, error) {
	w.delay(ctx, w.headStart)
	var last error // outcome of the last attempt that was not cut short
	for {
		began := time.Now()
		lease, err := w.attempt(ctx)
		if err != nil {
			err = cmp.Or(w.locker.heldByCaller(ctx, w.name, w.holder), err) // a lease of another Locker on the same nodes
		}
		if err == nil || isHopeless(err, w.locker.size) || errors.Is(err, caller.ErrSelf) {
			w.report(began, lease, err)
			return lease, err
		}
		if outcome := w.outcome(err); outcome != nil && (ctx.Err() == nil || last == nil) {
			last = outcome
		}
		last = cmp.Or(last, err)
		w.report(began, nil, last)
		if cause := w.wait(ctx, err); cause != nil {
			if errors.Is(last, cause) {
				return nil, last // only the first attempt was made, and ctx cut it short
			}
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", w.name, cause, last)
		}
	}
}

// attempt asks all nodes at once, or some before the others. If those were too slow for that, the next attempt asks all.
func (w *wait) attempt(ctx context.Context) (*Lease, error) {
	l := w.locker
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-l.open.Done(): // the attempt itself reports it
	case <-ctx.Done():
	}
	w.missed = l.queues.missed.Load()
	w.value.attempt++
	w.value.text = w.valueText()
	g := newGrant(w.request, w.value)
	w.line = lineOf(l.quorum, w.order)
	g.listIn(w.line, l.queues.id+patience(ctx))
	known, asked := w.hold, w.next
	first := w.line
	if asked == oneOfLine { // another one each time, so that no single node is believed twice in a row
		turn := w.value.attempt % len(w.line)
		first = w.line[turn : turn+1]
	}
	lease, answers, err := l.attempt(ctx, g, func(ctx context.Context, call quorum.Call[reply]) (*round, error) {
		if asked == everybody {
			return quorum.Ask(ctx, l.quorum, call, w.decided)
		}
		return w.askInTurn(ctx, first, call)
	})
	if err != nil {
		w.learn(l, answers, w.line)
		if asked == oneOfLine && w.holder == known.holder {
			w.votes = max(w.votes, min(known.votes, lineNodes)) // the hold that they confirmed goes on
		}
		if w.isHeld() {
			l.queues.taken(w.name)
		}
		w.next = theLine
		if asked != everybody && errors.Is(err, ErrNoQuorum) && errors.Is(err, quorum.ErrNoAnswer) {
			w.next = everybody
		}
	}
	return lease, err
}

// patience returns for how many milliseconds the process will wait at most.
func patience(ctx context.Context) string {
	most := mostPatience
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end))
	}
	return strconv.FormatInt(max(most.Milliseconds(), 1), 10)
}

// askInTurn asks these nodes first. It asks the others only if one of those granted the lock or cannot tell who holds it.
func (w *wait) askInTurn(ctx context.Context, first []int, call quorum.Call[reply]) (*round, error) {
	var open atomic.Bool
	return quorum.AskHedged(ctx, w.locker.quorum, call, w.decided, first, func(a answer) bool {
		if a.Err != nil || a.Value.yes || a.Value.unconfirmed {
			open.Store(true)
		}
		return open.Load()
	})
}

// decided reports whether the outcome is decided: whether the lock is granted, and otherwise who holds it.
func (w *wait) decided(answers []answer) bool {
	if !w.locker.jury.granted(answers) {
		return false
	}
	open, differ, holder := false, false, ""
	for _, a := range answers {
		open = open || !a.Over
		if a.Over && a.Err == nil && a.Value.held {
			differ = differ || holder != "" && holder != a.Value.value.contender
			holder = a.Value.value.contender
		}
	}
	return !open || !differ
}

// wait returns nil when the next attempt is due, or the reason why there will be none.
func (w *wait) wait(ctx context.Context, err error) error {
	if w.left > 0 {
		w.locker.queues.open()
	}
	pause := w.pause(err)
	due := time.Now().Add(pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var earliest time.Time // earliest attempt that a message may cause; zero: no message yet
	for {
		select {
		case <-timer.C:
			if w.next == theLine && w.isConfirmed() {
				w.next = oneOfLine
			}
			return nil
		case m := <-w.messages:
			pause, ok := w.receive(m)
			if !ok {
				continue
			}
			if earliest.IsZero() {
				earliest = time.Now().Add(w.pace.Next(time.Now()))
			} else { // further messages must not postpone the attempt
				pause = min(pause, time.Until(due))
			}
			if pause = max(pause, time.Until(earliest)); pause <= 0 {
				return nil // no timer: a handover waits for this
			}
			due = time.Now().Add(pause)
			timer.Reset(pause)
		case <-w.locker.open.Done():
			return nil // the next attempt reports it
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pause returns how long to wait if no message arrives.
func (w *wait) pause(err error) time.Duration {
	guarded, need := guardLeft(err), w.locker.need
	end := w.left + time.Duration(w.place)*apart + rand.N(apart/2) + w.headStart
	switch {
	case w.isHeld() && (w.holder == w.heard.value || w.inVain && w.votes < need):
		w.failures++ // a release has not reached these nodes yet, or several have split the votes
		return min(end, w.backoff.After(w.failures)+w.headStart)
	case w.isHeld() && w.failures == 0 && !w.inVain && !w.listed:
		w.failures++
		return rand.N(apart) // the nodes that keep the line were too slow for this attempt, or have just failed
	case w.isConfirmed():
		w.failures = 0
		return end
	case w.isHeld(): // one node alone may lie, or have the record of a failed attempt; a free one may be the first to know
		w.next = everybody
		return min(end, confirmAfter+rand.N(confirmAfter)+w.headStart)
	case w.left > 0:
		return w.left + w.headStart
	case guarded > 0:
		w.failures++
		return guarded + w.headStart + rand.N(jitter)
	}
	w.failures++
	return w.backoff.After(w.failures) + w.headStart
}

func (w *wait) isHeld() bool { return w.holder != value{} }

// isConfirmed reports whether two nodes name the holder, no node is free, and the process is in line: then nothing is to
// be done until a message comes, or the hold ends.
func (w *wait) isConfirmed() bool {
	return w.listed && !w.inVain && w.votes >= min(lineNodes, w.locker.need)
}

// receive handles a message. It returns how long to wait from now on, or false if the message changes nothing.
func (w *wait) receive(m *message) (pause time.Duration, changed bool) {
	place := m.place
	if len(w.line) > 0 && m.node != w.line[0] {
		place++ // the nodes may not agree about who is first; if they do, the first node's message comes, too
	}
	switch {
	case m.missed > 0 && m.missed <= w.missed:
		return 0, false // the last attempt has found out
	case m.missed > 0:
		w.next = theLine // it is too early to doubt a hold that one node alone names
		if w.missed == 0 && m.missed == int64(w.locker.size) {
			return 0, true // all nodes have confirmed the new subscription
		}
		return w.headStart + rand.N(jitter), true // meanwhile, the other nodes may do so: one attempt is enough for all
	case m.value.contender == w.value.contender:
		return 0, false // its own failed attempt
	case m.value.contender == w.heard.value.contender && m.value != w.holder && place >= w.heard.place:
		return 0, false // another node has told the same
	}
	if m.value.contender == w.heard.value.contender {
		place = min(place, w.heard.place) // the release has reached another node
	}
	w.heard = message{value: m.value, place: place}
	switch {
	case w.headStart > 0:
		w.locker.leaveLine(w.name, w.value.String(), &w.locker.tells.giveWay) // the next ones need not wait for it
		return w.headStart, true
	case m.failed: // failures with a common cause would otherwise repeat without a pause
		w.failures++
		return w.backoff.After(w.failures), true
	}
	w.failures = 0
	switch {
	case m.ours:
		return 0, true // after the others, who are listed
	case place > 0:
		return apart, true
	}
	w.next = everybody
	return 0, true
}

// delay waits for d, or until ctx is done or the Locker closes. The attempt that follows checks both.
func (w *wait) delay(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-w.locker.open.Done():
	case <-ctx.Done():
	}
}

// hold is what a waiting process has learned from its last attempt: who holds the lock, for how long, and how many nodes
// say so. No time is longer than MaxTTL, whatever the nodes say.
type hold struct {
	holder value         // zero: not known
	left   time.Duration // longest time left of that hold, or of the turns of those ahead in line if the lock is free
	votes  int           // nodes that name the holder
	place  int           // in line
	listed bool          // by a node that keeps the line
	inVain bool          // a node granted the lock, and too few did
	named  []NodeError   // the nodes that name a holder
}

// learn reads the answers to a failed attempt, in which these nodes keep the line. The holder is whom most nodes name.
func (h *hold) learn(l *Locker, answers []answer, line []int) {
	*h = hold{listed: len(answers) > 0 && slices.ContainsFunc(line, func(i int) bool { return hasListed(answers[i]) })}
	var lasts []time.Duration
	for i, a := range answers {
		switch {
		case a.Err != nil || !a.Over:
		case a.Value.yes:
			h.inVain = true
		case a.Value.queued:
			if h.left == 0 || a.Value.left < h.left {
				h.left = max(min(a.Value.left, l.settings.MaxTTL), time.Millisecond)
			}
		case a.Value.held:
			h.named = append(h.named, NodeError{l.quorum.Addr(i), l.leases.heldError(a.Value)})
		}
	}
	named := mostNamed(answers)
	if h.votes = len(named); h.votes == 0 {
		return
	}
	h.holder = named[0].value
	for _, r := range named {
		h.place, lasts = max(h.place, int(min(r.number, mostInLine))), append(lasts, r.left)
	}
	slices.Sort(lasts)
	h.left = min(lasts[max(h.votes-l.need, 0)], l.settings.MaxTTL) // as in [Locker.Holder]
	if h.votes < l.need {
		h.left = min(h.left, l.settings.TTL) // possibly only one node says so: ask again soon
	}
}

// hasListed reports whether the node has refused the lock, and so has listed the process.
func hasListed(a answer) bool {
	_, guarded := errors.AsType[guardedError](a.Err)
	return a.Over && !a.Value.yes && (a.Err == nil || guarded)
}

// outcome returns the error to report for an attempt. An attempt that asked only the first nodes is not conclusive by
// itself: outcome then returns what is known, or nil if no holder is known.
func (h *hold) outcome(err error) error {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !slices.ContainsFunc(q.Nodes, func(n NodeError) bool { return errors.Is(n.Err, quorum.ErrNotTried) }) {
		return err
	}
	if h.holder == (value{}) {
		return nil
	}
	return &QuorumError{Op: q.Op, Name: q.Name, Size: q.Size, Need: q.Need, Nodes: h.named, kind: ErrHeld}
}
