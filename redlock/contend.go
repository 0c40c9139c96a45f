package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	// jitter spreads the attempts of callers that wait for the same lease or guard to end. If they all asked at the
	// same moment, they would split the votes.
	jitter = 20 * time.Millisecond
	// apart is how long the second process in a list waits after a notification, so that the first one can ask before
	// it.
	apart = 10 * time.Millisecond
	// messageInterval and messageBurst limit the attempts that messages can cause: anybody who may publish can send any
	// number of messages.
	messageInterval = 10 * time.Millisecond
	messageBurst    = 2
	// confirmAfter is the delay after which a holder named by only one node is confirmed with all nodes. A shorter hold
	// is over by then.
	confirmAfter = 500 * time.Millisecond
	// listings is how many nodes list a waiting process.
	listings = 2
)

// contender is one waiting Acquire. It belongs to one goroutine.
type contender struct {
	request
	known
	locker   *Locker
	value    value
	order    []int           // in which nodes are asked; see nodes
	others   nodeSet         // nodes where others wait, if this process has just released the lock
	messages <-chan *message // from the nodes
	position byte            // requested in the wait lists

	listening bool       // subscribed, so releases are received
	listed    bool       // the nodes list this process as waiting
	unlisted  string     // the last holder under which the nodes did not list this process
	elsewhere bool       // other nodes must list it, because the first ones have not done so twice
	failures  int        // attempts in a row that did not learn the holder
	askedOne  int        // the node last asked before the others; -1: none since the last release
	slow      bool       // the last attempt ended before all nodes had answered
	confirm   bool       // the next attempt asks all nodes, to confirm the holder
	released  string     // the holder whose release was last received
	pace      retry.Pace // of attempts that messages cause
	owed      []*message // that removed this process from lists; forwarded unless somebody gets the lock
}

func newContender(l *Locker, r request, t *ticket) *contender {
	c := &contender{
		request: r, locker: l, value: value{contender: newContenderID(), text: r.text},
		others: l.waitersOn(r.name), messages: t.queue.messages, position: positionLast, askedOne: -1,
		pace: retry.Pace{Burst: messageBurst, Every: messageInterval},
	}
	if t.behind || c.others != 0 {
		c.position = positionBehind
	}
	return c
}

// nodes returns the order in which the nodes are asked. All contenders for this lock use the same order, except that
// nodes where others are known to wait come first: those others may be using another order.
func (c *contender) nodes() []int {
	if c.order == nil { // made on demand: usually the lock is free
		c.order = c.locker.order(c.name)
		slices.SortStableFunc(c.order, func(a, b int) int {
			return cmp.Compare(c.others>>b&1, c.others>>a&1)
		})
	}
	return c.order
}

// contend repeats attempts until one succeeds, success is impossible, or ctx is done.
func (c *contender) contend(ctx context.Context) (*Lease, error) {
	if c.position == positionBehind {
		c.listening = true
		if cause := c.locker.listen(ctx); cause != nil {
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, ErrHeld)
		}
	}
	c.delay(ctx, c.headStart)
	var last error // outcome of the last attempt that was not cut short
	for {
		began := time.Now()
		lease, err := c.attempt(ctx)
		if err == nil || isHopeless(err, c.locker.size) {
			c.reportLast(began, lease, err)
			return lease, err
		}
		if outcome := c.outcome(c.locker, err); outcome != nil && (ctx.Err() == nil || last == nil) {
			last = outcome
		}
		last = cmp.Or(last, err)
		c.report(began, last)
		if cause := c.wait(ctx, err); cause != nil {
			if errors.Is(last, cause) {
				return nil, last // only the first attempt was made, and ctx cut it short
			}
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, last)
		}
	}
}

// attempt asks all nodes at once if no other contender is known to be ahead. Otherwise it asks some nodes before the
// others, unless the nodes are too slow for that. Nodes that refuse add this process to their lists.
func (c *contender) attempt(ctx context.Context) (*Lease, error) {
	select {
	case c.locker.asking <- struct{}{}:
		defer func() { <-c.locker.asking }()
	case <-c.locker.open.Done(): // the attempt itself reports it
	case <-ctx.Done():
	}
	c.listening = c.listening || c.locker.inbox.isOpen()
	c.value.attempt++
	c.value.text = c.valueText()
	g := newGrant(c.request, c.value)
	lists := c.lists()
	c.elsewhere = false
	g.listIn(lists, c.position, c.locker.inbox.id)
	ask := c.locker.askAll
	if first := c.before(lists); len(first) > 0 {
		c.askedOne = first[0]
		ask = func(ctx context.Context, call quorum.Call[reply]) (*round, error) {
			return c.askInTurn(ctx, first, call)
		}
	}
	lease, answers, err := c.locker.attempt(ctx, g, ask)
	if err != nil {
		c.learn(c.locker, answers)
		if !c.listening && len(c.named) > 0 {
			_ = c.locker.listen(ctx) // subscribe first, so that later attempts can be listed; wait handles the outcome
		}
		if c.sure {
			c.owed = nil // the holder's release notifies the next process
		}
		c.slow = !c.slow && errors.Is(err, ErrNoQuorum) && errors.Is(err, quorum.ErrNoAnswer)
		if c.position != positionNone && len(answers) > 0 { // it was sent
			c.locker.watchLists(c.name, lists, g.round)
		}
		c.listed = c.position != positionNone && (c.listed && !isGranted(lists, answers) || isNoted(lists, answers))
	}
	c.confirm = false
	if c.position == positionNone {
		c.position = positionFirst // the last attempt removed it from the lists although it was next
	} else {
		c.position = positionLast
	}
	return lease, err
}

// before returns the nodes to ask before the others, or none to ask all at once.
func (c *contender) before(lists []int) []int {
	switch {
	case !c.listening || c.slow || c.confirm || c.position == positionNone || c.value.attempt == 1 && c.position != positionBehind:
		return nil
	case !c.listed && len(lists) > 0:
		return lists
	}
	return []int{c.first()}
}

// askInTurn asks some nodes first. It asks the others only if one of the first granted the lock or cannot tell who
// holds it. With positionBehind it waits for the answers of all first nodes, because any of them may know a process
// that is ahead.
func (c *contender) askInTurn(ctx context.Context, first []int, call quorum.Call[reply]) (*round, error) {
	behind := c.position == positionBehind // copied: answers may arrive after the next attempt has started
	var open, ahead atomic.Bool
	var said atomic.Int32
	return quorum.AskHedged(ctx, c.locker.quorum, call, c.locker.granted, first, func(a answer) bool {
		if a.Err != nil || a.Value.yes || a.Value.unconfirmed {
			open.Store(true)
		}
		if a.Value.queued {
			ahead.Store(true)
		}
		all := said.Add(1) == int32(len(first))
		return open.Load() && !ahead.Load() && (all || !behind)
	})
}

// first returns the node to ask first: the first one of the order that is not slow. While the holder is not known, it
// prefers a node that has not been asked yet. To see whether a known holder extends its lease, it picks another node
// each time, so that no single node is trusted twice in a row.
func (c *contender) first() int {
	order := c.nodes()
	if c.sure && !c.doubtful {
		last := slices.Index(order, c.askedOne)
		order = slices.Concat(order[last+1:], order[:last+1])
	}
	best := -1
	for _, i := range order {
		if c.locker.quorum.Slow(i) {
			continue
		}
		if _, named := c.named[i]; c.holder != "" || !named {
			return i
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		best = order[0]
	}
	return best
}

// wait returns nil when the next attempt is due, or the reason why there will be none.
func (c *contender) wait(ctx context.Context, err error) error {
	if !c.listening && len(c.named) > 0 {
		c.listening = true // asking once more finds a release that happened before the subscription
		return c.locker.listen(ctx)
	}
	pause := c.pause(err)
	due := time.Now().Add(pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var earliest time.Time // earliest attempt that a message may cause; zero: no message yet
	for {
		select {
		case <-timer.C:
			c.confirm = c.holder != "" && !c.sure
			return nil
		case m := <-c.messages:
			pause, ok := c.receive(m)
			if !ok {
				continue
			}
			if earliest.IsZero() {
				earliest = time.Now().Add(c.pace.Next(time.Now()))
			} else { // further messages must not postpone the attempt
				pause = min(pause, time.Until(due))
			}
			if pause = max(pause, time.Until(earliest)); pause <= 0 {
				return nil // no timer: a handover waits for this
			}
			due = time.Now().Add(pause)
			timer.Reset(pause)
		case <-c.locker.open.Done():
			return nil // the next attempt reports it
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pause returns how long to wait if no message arrives.
func (c *contender) pause(err error) time.Duration {
	switch left := guardLeft(err); {
	case c.queued && !c.sure:
		return c.headStart + min(time.Duration(1+c.ahead)*apart, confirmAfter) + rand.N(jitter)
	case c.holder != "" && c.position == positionFirst:
		return 0
	case c.doubtful && len(c.named) > 0:
		c.failures++
		return min(c.heldFor(), c.backoff.After(c.failures)+c.headStart)
	case c.holder != "":
		c.failures = 0
		return c.heldFor()
	case left > 0:
		c.failures++
		return left + c.headStart + rand.N(jitter)
	}
	c.failures++
	if !slices.ContainsFunc(c.nodes(), c.isNew) {
		clear(c.named) // all reachable nodes were asked, and no majority names one holder
	}
	return c.backoff.After(c.failures) + c.headStart
}

// heldFor returns how long to wait for the known hold to end. If only one node has named the holder, the others are
// asked sooner.
func (c *contender) heldFor() time.Duration {
	end := c.left + c.headStart + rand.N(jitter)
	if !c.sure {
		return min(end, confirmAfter+rand.N(confirmAfter)+c.headStart)
	}
	return end
}

// isNew reports whether a node has not yet said who holds the lock, and is not slow.
func (c *contender) isNew(node int) bool {
	_, named := c.named[node]
	return !named && !c.locker.quorum.Slow(node)
}

// receive handles a message. It returns how long to wait from now on, or false if the message changes nothing. A
// process that was removed from a list always asks again, and so is listed again.
func (c *contender) receive(m *message) (pause time.Duration, changed bool) {
	who := m.value.contender
	switch {
	case m.missed:
		c.listed = false // a missed message may have removed it from a list
		return c.headStart + rand.N(jitter), true
	case m.unlisted:
		if c.listed || !c.sure {
			return 0, false // a later attempt was listed, or the next one is soon
		}
		c.elsewhere, c.unlisted = c.unlisted == c.holder, c.holder
		return c.headStart + apart + rand.N(jitter), true
	case m.ours && (c.listed || c.holder != who):
		return 0, false // the nodes notify it, or it knows already
	case m.kind == notifyFailed:
		if c.holder != who {
			return 0, false
		}
		c.over()
		c.failures++
		return c.backoff.After(c.failures) + c.headStart, true
	case m.position != 1:
		if c.released == who && c.holder != who {
			return 0, false // another node has reported this release before
		}
		listed := c.listed && m.position == 2 // the second in a list stays listed
		c.over()
		c.listed, c.released, c.failures = listed, who, 0
		if m.position == 0 {
			c.owe(m)
		}
		return c.headStart + apart, true
	}
	c.owe(m)
	c.over()
	c.released, c.failures = who, 0
	if c.headStart == 0 {
		c.position = positionNone // usually granted; nodes that get the release later must not keep it listed
	}
	return c.headStart, true
}

// owe makes sure that the next process is notified if this one was first in the list but does not take the lock. With a
// head start it forwards the message at once; otherwise it does so only if this call ends without the lock.
func (c *contender) owe(m *message) {
	if c.headStart > 0 {
		c.locker.forward(m)
	} else if len(c.owed) < maxMessages {
		c.owed = append(c.owed, m)
	}
}

// over forgets the hold that has ended. The lists must be asked again, too.
func (c *contender) over() {
	c.forget()
	c.listed, c.askedOne = false, -1
}

// delay waits for d, or until ctx is done or the Locker closes. The attempt that follows checks both.
func (c *contender) delay(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-c.locker.open.Done():
	case <-ctx.Done():
	}
}
