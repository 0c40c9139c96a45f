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
	// jitter is how far apart those who wait for the same end of a lease or a guard ask again: at random, since by asking at
	// once they would split the votes.
	jitter = 20 * time.Millisecond
	// apart is how much later than the first one in the list the second one asks.
	apart = 10 * time.Millisecond
	// newsEvery and newsBurst space what news can cause: anybody who may publish can send any number of messages.
	newsEvery = 10 * time.Millisecond
	newsBurst = 2
	// confirmAfter is after how long a holder that only one node has named is asked for on all of them. A hold that is
	// shorter is over by then.
	confirmAfter = 500 * time.Millisecond
	// listings is how many nodes are to note that somebody waits.
	listings = 2
)

// contender is one waiting Acquire. It belongs to one goroutine.
type contender struct {
	request
	known
	locker *Locker
	value  value
	order  []int           // see nodes
	others nodeSet         // where others wait, if this process has just given the lock up
	news   <-chan *message // what the nodes tell
	place  byte            // where this one is to be in the lists, if it is refused

	listening bool       // the nodes are listened to, so a release is heard of
	listed    bool       // they have noted that this one waits
	failures  int        // in a row, without knowing who holds the lock
	askedOne  int        // the node that was asked before the others last; -1: none since the last release
	slow      bool       // the last attempt ended with answers missing
	confirm   bool       // the next attempt is to find out whether the holder holds a majority
	released  string     // the holder whose release was heard of last
	pace      retry.Pace // of the attempts that news have caused
	owed      []*message // that this one was taken off lists for that release, until somebody holds the lock
}

func newContender(l *Locker, r request, t *ticket) *contender {
	c := &contender{
		request: r, locker: l, value: value{contender: newContenderID(), text: r.text},
		others: l.givenOn(r.name), news: t.queue.news, place: placeLast, askedOne: -1,
		pace: retry.Pace{Burst: newsBurst, Every: newsEvery},
	}
	if t.behind || c.others != 0 {
		c.place = placeBehind
	}
	return c
}

// nodes is the order in which the nodes are asked: the same for everybody who wants this lock, but that those come first on
// which others are known to wait, whose order may be another one.
func (c *contender) nodes() []int {
	if c.order == nil { // made when it is needed: mostly the lock is free
		c.order = c.locker.order(c.name)
		slices.SortStableFunc(c.order, func(a, b int) int {
			return cmp.Compare(c.others>>b&1, c.others>>a&1)
		})
	}
	return c.order
}

// contend attempts until it succeeds, is hopeless, or ctx is done.
func (c *contender) contend(ctx context.Context) (*Lease, error) {
	if c.place == placeBehind {
		c.listening = true
		if cause := c.locker.listen(ctx); cause != nil {
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, ErrHeld)
		}
	}
	c.delay(ctx, c.yield)
	var last error // outcome of an attempt that was not cut short
	for {
		began := time.Now()
		lease, err := c.attempt(ctx)
		if err == nil || isHopeless(err, c.locker.size) {
			c.tellEnd(began, lease, err)
			return lease, err
		}
		if outcome := c.outcome(c.locker, err); outcome != nil && (ctx.Err() == nil || last == nil) {
			last = outcome
		}
		last = cmp.Or(last, err)
		c.tell(began, last)
		if cause := c.wait(ctx, err); cause != nil {
			if errors.Is(last, cause) {
				return nil, last // the first attempt was the one that was cut short
			}
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, last)
		}
	}
}

// attempt asks all nodes at once, if nobody is known to be ahead; or some before the others, unless the nodes are so slow
// that there is no time for one after the other. Where it is refused, it is noted in their lists.
func (c *contender) attempt(ctx context.Context) (*Lease, error) {
	select {
	case c.locker.asking <- struct{}{}:
		defer func() { <-c.locker.asking }()
	case <-c.locker.open.Done(): // the attempt itself says so
	case <-ctx.Done():
	}
	c.listening = c.listening || c.locker.inbox.isOpen()
	c.value.attempt++
	c.value.text = c.valueText()
	g := newGrant(c.request, c.value)
	lists := c.lists()
	g.listIn(lists, c.place, c.locker.inbox.id)
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
			_ = c.locker.listen(ctx) // before others ask who cannot be listed yet; wait looks at the outcome
		}
		if c.sure {
			c.owed = nil // who holds the lock will have it released
		}
		c.slow = !c.slow && errors.Is(err, ErrNoQuorum) && errors.Is(err, quorum.ErrNoAnswer)
		c.listed = c.place != placeNone && (c.listed && !isGranted(lists, answers) || isNoted(lists, answers))
	}
	c.confirm = false
	if c.place == placeNone {
		c.place = placeFirst // the nodes have just dropped it, since it was about to have the lock
	} else {
		c.place = placeLast
	}
	return lease, err
}

// lists is the nodes that are to note that this one waits: the first ones of the order that are heard, rather not slow ones.
func (c *contender) lists() []int {
	if !c.listening {
		return nil
	}
	nodes := make([]int, 0, listings)
	for _, slow := range []bool{false, true} {
		for _, i := range c.nodes() {
			if len(nodes) < listings && c.locker.quorum.Slow(i) == slow && c.locker.inbox.hears(i) {
				nodes = append(nodes, i)
			}
		}
	}
	return nodes
}

// isNoted reports that all these nodes have refused, and so noted who asked.
func isNoted(lists []int, answers []answer) bool {
	return len(lists) > 0 && len(answers) > 0 && !slices.ContainsFunc(lists, func(i int) bool {
		_, guarded := errors.AsType[guardedError](answers[i].Err)
		return !answers[i].Over || answers[i].Value.yes || answers[i].Err != nil && !guarded
	})
}

// isGranted reports that one of these nodes has granted the lock, and so forgotten that the one who asked waits.
func isGranted(lists []int, answers []answer) bool {
	return len(answers) > 0 && slices.ContainsFunc(lists, func(i int) bool { return answers[i].Value.yes })
}

// before is the nodes to ask before the others; none: ask all at once.
func (c *contender) before(lists []int) []int {
	switch {
	case !c.listening || c.slow || c.confirm || c.place == placeNone || c.value.attempt == 1 && c.place != placeBehind:
		return nil
	case !c.listed && len(lists) > 0:
		return lists
	}
	return []int{c.first()}
}

// askInTurn asks some nodes, and the others only if one of these granted the lock, or cannot tell. Who is to go behind waits
// for what all of them say: one knows whether somebody is ahead.
func (c *contender) askInTurn(ctx context.Context, first []int, call quorum.Call[reply]) (*round, error) {
	behind := c.place == placeBehind // the answers may come later than the next attempt
	var open, ahead atomic.Bool
	var said atomic.Int32
	return quorum.AskHedged(ctx, c.locker.quorum, call, c.locker.granted, first, func(a answer) bool {
		if a.Err != nil || a.Value.yes || a.Value.shaky {
			open.Store(true)
		}
		if a.Value.queued {
			ahead.Store(true)
		}
		all := said.Add(1) == int32(len(first))
		return open.Load() && !ahead.Load() && (all || !behind)
	})
}

// first is the node to ask first: the first one of the order that is not slow; while the holder is not known, one that was
// not asked for it yet; and to see whether a holder extends its hold, another one each time, so that none is believed twice.
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

// wait returns when it is time for the next attempt, or why there will be none.
func (c *contender) wait(ctx context.Context, err error) error {
	if !c.listening && len(c.named) > 0 {
		c.listening = true // what was released before is found by asking once more
		return c.locker.listen(ctx)
	}
	pause := c.pause(err)
	due := time.Now().Add(pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var heard time.Time // from when on what was heard may have it ask; zero: nothing was heard
	for {
		select {
		case <-timer.C:
			c.confirm = c.holder != "" && !c.sure
			return nil
		case m := <-c.news:
			pause, ok := c.hear(m)
			if !ok {
				continue
			}
			if heard.IsZero() {
				heard = time.Now().Add(c.pace.Next(time.Now()))
			} else { // whoever publishes without pause, or a node that comes and goes, does not put the attempt off
				pause = min(pause, time.Until(due))
			}
			if pause = max(pause, time.Until(heard)); pause <= 0 {
				return nil // without a timer: this is what a handover waits for
			}
			due = time.Now().Add(pause)
			timer.Reset(pause)
		case <-c.locker.open.Done():
			return nil // the attempt that follows says so
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pause is how long to wait without news.
func (c *contender) pause(err error) time.Duration {
	switch left := guardLeft(err); {
	case c.queued && !c.sure:
		return c.yield + min(time.Duration(1+c.ahead)*apart, confirmAfter) + rand.N(jitter)
	case c.holder != "" && c.place == placeFirst:
		return 0
	case c.doubtful && len(c.named) > 0:
		c.failures++
		return min(c.heldFor(), c.backoff.After(c.failures)+c.yield)
	case c.holder != "":
		c.failures = 0
		return c.heldFor()
	case left > 0:
		c.failures++
		return left + c.yield + rand.N(jitter)
	}
	c.failures++
	if !slices.ContainsFunc(c.nodes(), c.isNew) {
		clear(c.named) // all who answer were asked, and no majority named the same
	}
	return c.backoff.After(c.failures) + c.yield
}

// heldFor is how long to wait for the end of the hold that is known of. One that a single node has told of is looked at on
// the others after a while.
func (c *contender) heldFor() time.Duration {
	end := c.left + c.yield + rand.N(jitter)
	if !c.sure {
		return min(end, confirmAfter+rand.N(confirmAfter)+c.yield)
	}
	return end
}

// isNew reports that a node has not said yet who holds the lock, and may.
func (c *contender) isNew(node int) bool {
	_, named := c.named[node]
	return !named && !c.locker.quorum.Slow(node)
}

// hear takes a message, and returns for how long to wait from now on; false: as long as before. Who was taken off a list asks
// in any case, and so is noted there again.
func (c *contender) hear(m *message) (pause time.Duration, changed bool) {
	who := m.value.contender
	switch {
	case m.missed:
		c.listed = false // it may have been taken off a list
		return c.yield + rand.N(jitter), true
	case m.ours && (c.listed || c.holder != who):
		return 0, false // the nodes tell of it, or it is known
	case m.kind == tellFailed:
		if c.holder != who {
			return 0, false
		}
		c.over()
		c.failures++
		return c.backoff.After(c.failures) + c.yield, true
	case m.place != 1:
		if c.released == who && c.holder != who {
			return 0, false // another node has told of it before, and none has named it since
		}
		listed := c.listed && m.place == 2 // it still is
		c.over()
		c.listed, c.released, c.failures = listed, who, 0
		if m.place == 0 {
			c.owe(m)
		}
		return c.yield + apart, true
	}
	c.owe(m)
	c.over()
	c.released, c.failures = who, 0
	if c.yield == 0 {
		c.place = placeNone // mostly it is granted, and where the release comes later than this it would stay listed
	}
	return c.yield, true
}

// owe has the next one told, where this one was told first: at once if it yields, or else if it ends without the lock.
func (c *contender) owe(m *message) {
	if c.yield > 0 {
		c.locker.passOn(m)
	} else if len(c.owed) < maxMessages {
		c.owed = append(c.owed, m)
	}
}

// over drops what was known, as it is over: the lists are to be asked again, too.
func (c *contender) over() {
	c.forget()
	c.listed, c.askedOne = false, -1
}

// delay waits for d, less if ctx is done or the Locker closes, at which the attempt that follows looks itself.
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
