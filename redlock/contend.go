package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Acquire is [Locker.TryAcquire] repeated until it succeeds or ctx is done; the error then wraps
// both the cause of ctx and the last outcome. It asks again when the lock is released, of which the
// nodes tell it, when the holder's lease must have run out, and when too few nodes answered, after a
// pause. Callers that wait for the same lock in one process queue up, and cost the nodes no more than
// one. It ends at once where waiting is in vain: wrong passwords, missing rights or another length of
// the node list on so many nodes that no quorum is left.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...AcquireOption) (lease *Lease, err error) {
	r, found := l.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	place, err := l.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	c := &contender{
		locker: l, request: r, value: value{contender: newContender(), text: r.text},
		order: l.order(name), seen: make(map[int]heldError), known: place.winner,
	}
	defer func() { // also where who is told of an attempt panics
		if c.news != nil {
			c.news.leave()
		}
		if lease != nil {
			place.leave(c.value.contender, nil)
		} else {
			place.leave("", err)
		}
	}()
	return c.contend(ctx)
}

// order is in which the nodes are asked by those who contend for a lock: the same for everybody, so
// that one of them wins and the others are told by the first node.
func (l *Locker) order(name string) []int {
	h := fnv.New32a()
	h.Write([]byte(name))
	n := l.quorum.Size()
	order := make([]int, n)
	for i := range order {
		order[i] = (int(h.Sum32()%uint32(n)) + i) % n
	}
	return order
}

// contender is one waiting Acquire.
type contender struct {
	request
	locker *Locker
	value  value
	order  []int
	news   *news // of releases, once the lock was found held

	failures int               // in a row, without knowing who holds the lock
	seen     map[int]heldError // what each node said of the holder since the last news
	late     bool              // the last attempt ended with answers missing
	known    string            // contender that a majority of nodes has named at some time
	holder   string            // contender that holds the lock, as far as is known
	left     time.Duration     // of the holder's lease
}

func (c *contender) contend(ctx context.Context) (*Lease, error) {
	var last error // outcome of an attempt that was not cut short
	if c.known != "" {
		// The one who was before in the queue of this process has just won.
		if cause := c.listen(ctx); cause != nil {
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, ErrHeld)
		}
	}
	c.letOthers(ctx)
	for {
		began := time.Now()
		lease, err := c.attempt(ctx)
		if err == nil || isHopeless(err, c.locker.quorum.Size()) {
			c.tellEnd(began, lease, err)
			return lease, err
		}
		if told := c.outcome(err); told != nil && (ctx.Err() == nil || last == nil) {
			last = told
		}
		c.tell(began, cmp.Or(last, err))
		if cause := c.wait(ctx, err); cause != nil {
			if errors.Is(last, cause) {
				return nil, last // the first attempt was the one that was cut short
			}
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", c.name, cause, last)
		}
	}
}

// attempt asks all nodes at first, and after a lost race one before the others; unless they are so slow
// that there is no time for one after the other.
func (c *contender) attempt(ctx context.Context) (*Lease, error) {
	c.value.attempt++
	ask := c.askInTurn
	if c.value.attempt == 1 && c.known == "" || c.late {
		ask = c.locker.askAll
	}
	lease, answers, err := c.locker.attempt(ctx, c.request, c.value, ask)
	if err != nil {
		c.learn(answers)
		c.late = !c.late && errors.Is(err, ErrNoQuorum) && errors.Is(err, quorum.ErrNoAnswer)
	}
	return lease, err
}

// outcome is what to tell of an attempt. One that ended at the first node adds to what is known, and
// says nothing by itself: then it is nil.
func (c *contender) outcome(err error) error {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !slices.ContainsFunc(q.Nodes, func(n NodeError) bool { return errors.Is(n.Err, quorum.ErrUnsent) }) {
		return err
	}
	if c.holder == "" {
		return nil
	}
	held := &QuorumError{Op: q.Op, Name: q.Name, Need: q.Need, kind: ErrHeld}
	for _, i := range slices.Sorted(maps.Keys(c.seen)) {
		held.Nodes = append(held.Nodes, NodeError{c.locker.quorum.Addr(i), c.seen[i]})
	}
	return held
}

// askInTurn asks one node, and the others only if it granted the lock, or cannot tell.
func (c *contender) askInTurn(ctx context.Context, call quorum.Call) (*quorum.Round, error) {
	first := c.first()
	if c.news != nil {
		c.news.asks(first)
	}
	return c.locker.quorum.AskFirst(ctx, call, c.locker.granted, first, func(a quorum.Answer) bool {
		r, err := parseReply(a)
		return err != nil || r.yes
	})
}

// first is the node to ask first: one that would tell of a release right after it has turned the
// contender down, if there is one; and while the holder is not known, one that was not asked for it yet.
func (c *contender) first() int {
	best, most := c.order[0], -1
	for _, i := range c.order {
		if c.locker.quorum.Overdue(i) {
			continue
		}
		fit := 0
		if _, seen := c.seen[i]; c.holder != "" || !seen {
			fit += 2
		}
		if c.news != nil && c.news.hears(i) {
			fit++
		}
		if fit > most {
			best, most = i, fit
		}
	}
	return best
}

// learn takes note of whom the nodes name as holder. Only one that a majority names holds the lock:
// a smaller number are the remains of a split vote, and waiting for their end could take for ever.
func (c *contender) learn(answers []quorum.Answer) {
	votes := make(map[string]int)
	named := make(map[string]time.Duration) // in these answers
	for i, a := range answers {
		r, err := parseReply(a)
		if err != nil || r.value == "" {
			continue
		}
		v, _ := parseValue(r.value) // parseReply has checked it
		c.seen[i] = heldError{v, r.ttl}
		named[v.contender] = max(named[v.contender], r.ttl)
	}
	for _, said := range c.seen {
		votes[said.value.contender]++
	}
	c.holder = ""
	for who, left := range named {
		if votes[who] >= c.locker.need {
			c.known = who
		}
		if who == c.known && left >= 0 {
			c.holder, c.left = who, left
		}
	}
}

// wait returns when it is time for the next attempt, or why there will be none.
func (c *contender) wait(ctx context.Context, err error) error {
	k := c.locker
	if c.news == nil && len(c.seen) > 0 {
		return c.listen(ctx)
	}
	var released, failed <-chan struct{} // never, if nobody was seen to hold the lock
	if c.news != nil {
		released, failed = c.news.released, c.news.failed
	}
	for {
		select {
		case <-time.After(c.pause(err)):
			if c.holder != "" {
				c.failures = 0
			}
		case <-released:
			c.failures = 0
			c.forget()
			c.letOthers(ctx)
		case <-failed:
			c.forget()
			continue
		case <-k.open.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return nil
	}
}

// forget is what to do with what the nodes said, when it is known to be over.
func (c *contender) forget() {
	c.holder, c.known = "", ""
	clear(c.seen)
}

// listen has the nodes tell of releases from here on. One before that is found by asking once more.
func (c *contender) listen(ctx context.Context) error {
	c.news = c.locker.push.join(c.name)
	return c.news.joined(ctx, c.locker.settings.NodeTimeout)
}
