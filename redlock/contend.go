package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

const (
	// jitter is how far apart those who wait for the same end of a lease or a guard ask again: at random, since by asking at
	// once they would split the votes.
	jitter = 20 * time.Millisecond
	// confirmAfter is after how long a holder that only one node has named is asked for on all of them. A hold that is
	// shorter is over by then.
	confirmAfter = 100 * time.Millisecond
)

// contender is one waiting Acquire. It belongs to one goroutine.
type contender struct {
	request
	locker *Locker
	value  value
	order  []int                // in which the nodes are asked: the same for everybody who wants this lock
	news   *notify.Subscription // once the lock was found held

	failures int               // in a row, without knowing who holds the lock
	named    map[int]statement // whom each node named last, since the last release
	askedOne int               // the node that was asked before the others last; -1: none since the last release
	slow     bool              // the last attempt ended with answers missing
	released [8]string         // the holders whose releases were heard last
	holder   string            // who holds the lock, as far as is known
	left     time.Duration     // of that hold, at most
	sure     bool              // a majority has named the holder, or did, and then one node that it extends the hold
	doubtful bool              // another node is free: the holder may be releasing it just now
	confirm  bool              // the next attempt is to find out whether the holder holds a majority
	alone    bool              // nobody else was told of the release that was heard last
}

// statement is what a node said of the holder.
type statement struct {
	heldError
	until time.Time // when the hold is over, by the Locker's clock
}

// newContender makes the contender whose turn it is. What the one before it in the queue of this process knew goes on: that
// it has just won, and its subscription, which has heard everything since.
func newContender(l *Locker, r request, t *ticket) *contender {
	c := &contender{
		request: r, locker: l, value: value{contender: newContenderID(), text: r.text}, news: t.news, askedOne: -1,
	}
	if t.winner != "" {
		c.holder, c.left = t.winner, l.settings.MaxTTL
	}
	if channel := l.channelOf(r.name); c.news == nil && l.notifier.Hears(channel) {
		c.news = l.notifier.Subscribe(channel, c.nodes()) // it was waited for not long ago: it may be wanted by many
		c.news.Late()                                     // nobody waits for it to be ready
	}
	return c
}

// contend attempts until it succeeds, is hopeless, or ctx is done.
func (c *contender) contend(ctx context.Context) (*Lease, error) {
	var last error // outcome of an attempt that was not cut short
	if c.holder != "" {
		begin := c.listen
		if c.news != nil {
			begin = c.waitForNews
		}
		if cause := begin(ctx); cause != nil {
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, ErrHeld)
		}
	}
	c.delay(ctx, c.yield+c.courtesy())
	for {
		began := time.Now()
		lease, err := c.attempt(ctx)
		if err == nil || isHopeless(err, c.locker.size) {
			c.tellEnd(began, lease, err)
			return lease, err
		}
		if outcome := c.outcome(err); outcome != nil && (ctx.Err() == nil || last == nil) {
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

// attempt asks all nodes at first; later one before the others, and then those who wait are told if it grants; unless nobody
// else was told of the release, or the nodes are so slow that there is no time for one after the other.
func (c *contender) attempt(ctx context.Context) (*Lease, error) {
	c.value.attempt++
	g := newGrant(c.request, c.value)
	ask := c.locker.askAll
	if !c.slow && !c.confirm && !c.alone && c.news != nil {
		ask = func(ctx context.Context, call quorum.Call[reply]) (*round, error) { return c.askInTurn(ctx, g, call) }
	}
	c.confirm, c.alone = false, false
	select {
	case c.locker.asking <- struct{}{}:
		defer func() { <-c.locker.asking }()
	case <-c.locker.open.Done(): // the attempt itself says so
	case <-ctx.Done():
	}
	lease, answers, err := c.locker.attempt(ctx, g, ask)
	if err != nil {
		c.learn(answers)
		c.slow = !c.slow && errors.Is(err, ErrNoQuorum) && errors.Is(err, quorum.ErrNoAnswer)
	}
	return lease, err
}

// askInTurn asks one node, and the others only if it granted the lock, or cannot tell. The first one that grants it tells those
// who wait, or else those to which they listen.
func (c *contender) askInTurn(ctx context.Context, g *grant, call quorum.Call[reply]) (*round, error) {
	first := c.first()
	g.tellers = nodeSet(0).with(first)
	for _, node := range c.nodes()[:min(notify.NodesPerChannel, c.locker.size)] {
		g.tellers = g.tellers.with(node)
	}
	c.askedOne = first
	return quorum.AskHedged(ctx, c.locker.quorum, call, c.locker.granted, first, func(a answer) bool {
		g.told.Store(a.Err == nil && a.Value.yes)
		return a.Err != nil || a.Value.yes || a.Value.shaky
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

// learn takes note of whom the nodes name as holder. One that a majority names holds the lock. One that is named by all who
// answered, if too few, may be what a failed attempt has left: it is asked for again soon. If they do not agree, nobody holds
// it.
//
// The hold of one that a majority has named is extended, as far as one node alone can tell: then it holds the lock for
// longer. Not if the holder itself cannot confirm that: nodes that it reaches have its record for longer than a majority.
func (c *contender) learn(answers []answer) {
	var last value
	now := c.locker.clock.Now()
	maps.DeleteFunc(c.named, func(_ int, s statement) bool { return !now.Before(s.until) })
	free, extended := false, c.sure && !c.doubtful
	for i, a := range answers {
		switch {
		case errors.Is(a.Err, quorum.ErrUnsent):
		case a.Err != nil || !a.Over:
			extended = false
		case !a.Value.held:
			free, extended = true, false
		default:
			if c.named == nil {
				c.named = make(map[int]statement)
			}
			c.named[i] = statement{heldError{a.Value.value, a.Value.left}, now.Add(a.Value.left)}
			last, c.left = a.Value.value, a.Value.left
			extended = extended && !a.Value.shaky && last.contender == c.holder
		}
	}
	c.doubtful = free
	votes := 0
	for _, n := range c.named {
		if n.value.contender == last.contender {
			votes++
		}
	}
	c.holder, c.sure = "", votes >= c.locker.need || extended && votes > 0
	if c.sure || votes > 0 && votes == len(c.named) && !free {
		c.holder = last.contender
	}
	if votes < c.locker.need {
		c.left = min(c.left, c.locker.settings.MaxTTL) // whatever one node says
	}
}

// outcome is what to say of an attempt. One that ended at the first node adds to what is known, and says nothing by
// itself: then it is nil.
func (c *contender) outcome(err error) error {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !slices.ContainsFunc(q.Nodes, func(n NodeError) bool { return errors.Is(n.Err, quorum.ErrUnsent) }) {
		return err
	}
	if c.holder == "" {
		return nil
	}
	held := &QuorumError{Op: q.Op, Name: q.Name, Size: q.Size, Need: q.Need, kind: ErrHeld}
	for _, i := range slices.Sorted(maps.Keys(c.named)) {
		held.Nodes = append(held.Nodes, NodeError{c.locker.quorum.Addr(i), c.named[i].heldError})
	}
	return held
}

// waitForNews is wait before any attempt.
func (c *contender) waitForNews(ctx context.Context) error { return c.wait(ctx, nil) }

// wait returns when it is time for the next attempt, or why there will be none.
func (c *contender) wait(ctx context.Context, err error) error {
	if c.news == nil && len(c.named) > 0 {
		return c.listen(ctx)
	}
	timer := time.NewTimer(c.pause(err))
	defer timer.Stop()
	var news <-chan struct{} // never, if nobody was seen to hold the lock
	if c.news != nil {
		news = c.news.C()
	}
	for {
		select {
		case <-timer.C:
			c.confirm = c.holder != "" && !c.sure
			return nil
		case <-news:
			if pause, ok := c.hear(); ok {
				timer.Reset(pause)
			}
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
	case c.holder != "" && c.doubtful:
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
		return min(end, confirmAfter+rand.N(2*confirmAfter)+c.yield)
	}
	return end
}

// nodes is the order in which the nodes are asked: the same for everybody who wants this lock, so that one of them wins and
// the others are told by the first node.
func (c *contender) nodes() []int {
	if c.order == nil {
		c.order = c.locker.order(c.name)
	}
	return c.order
}

// isNew reports that a node has not said yet who holds the lock, and may.
func (c *contender) isNew(node int) bool {
	_, named := c.named[node]
	return !named && !c.locker.quorum.Slow(node)
}

// hear takes one event, and returns for how long to wait from now on; false: as long as before.
func (c *contender) hear() (pause time.Duration, changed bool) {
	e, ok := c.news.Next()
	switch {
	case !ok:
		return 0, false
	case e.Missed:
		c.forget()
		return c.yield + rand.N(jitter), true
	}
	kind, rest, _ := strings.Cut(e.Text, " ")
	number, text, _ := strings.Cut(rest, " ")
	n, err1 := strconv.ParseInt(number, 10, 64)
	v, err2 := parseValue(text)
	if err1 != nil || err2 != nil || v.contender == c.value.contender {
		return 0, false
	}
	switch known := slices.Contains(c.released[:], v.contender); {
	case known && c.holder != v.contender:
		return 0, false // another node has told of its end before, and none has named it since
	case kind == tellTaken:
		c.holder, c.left, c.sure, c.doubtful, c.alone = v.contender, milliseconds(n), false, false, false
		return c.heldFor(), true
	case kind == tellFailed && (c.holder == "" || c.holder == v.contender):
		c.forget()
		c.failures++
		return c.backoff.After(c.failures) + c.yield, true
	case kind == tellOver:
		copy(c.released[1:], c.released[:])
		c.released[0] = v.contender
		c.forget()
		c.failures, c.alone = 0, n == 1 && !c.locker.channels
		return c.yield + c.drawDelay(n, e.Node), true
	}
	return 0, false
}

// drawDelay is how long to let others go first, of so many that wait: one or two of them ask before the first one who is
// granted the lock is heard of. -1: it is not known how many they are.
func (c *contender) drawDelay(waiting int64, node int) time.Duration {
	if waiting < 0 {
		waiting = 8
	}
	if waiting <= 1 {
		return 0
	}
	return rand.N(time.Duration(min(waiting, 1000)) * max(c.locker.quorum.BestRTT(node), 300*time.Microsecond))
}

// courtesy is how long to let others go first, where this Locker has just given the lock up and they wait: as long as each
// of them does. Who asked again at once would have it again, and again.
func (c *contender) courtesy() time.Duration {
	c.locker.mu.Lock()
	g, ok := c.locker.given[c.name]
	c.locker.mu.Unlock()
	if !ok || time.Since(g.at) > confirmAfter {
		return 0
	}
	return c.drawDelay(g.waiting+1, c.nodes()[0])
}

// forget drops what the nodes said, when it is known to be over.
func (c *contender) forget() {
	c.holder, c.sure, c.alone, c.askedOne = "", false, false, -1
	clear(c.named)
}

// listen has the nodes tell of releases from here on. One before that is found by asking once more.
func (c *contender) listen(ctx context.Context) error {
	c.news = c.locker.notifier.Subscribe(c.locker.channelOf(c.name), c.nodes())
	return c.locker.joined(ctx, c.news)
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
