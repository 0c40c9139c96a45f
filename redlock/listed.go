package redlock

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// lists returns the nodes that should list this process as waiting: the first nodes of the order that it receives
// messages from. Slow nodes come last. If none of those nodes has listed it, they are others, which have named the holder.
func (c *contender) lists() []int {
	if !c.listening {
		return nil
	}
	nodes := make([]int, 0, listings)
	for _, slow := range []bool{false, true} {
		for _, i := range c.nodes() {
			_, named := c.named[i]
			if c.elsewhere && !named {
				continue
			}
			if len(nodes) < listings && c.locker.quorum.Slow(i) == slow && c.locker.inbox.receivesFrom(i) {
				nodes = append(nodes, i)
			}
		}
	}
	return nodes
}

// isNoted reports whether all these nodes have refused, and so have listed this process.
func isNoted(lists []int, answers []answer) bool {
	return len(lists) > 0 && len(answers) > 0 &&
		!slices.ContainsFunc(lists, func(i int) bool { return !hasListed(answers[i]) })
}

// isGranted reports whether one of these nodes has granted the lock, and so has removed this process from its list.
func isGranted(lists []int, answers []answer) bool {
	return len(answers) > 0 && slices.ContainsFunc(lists, func(i int) bool { return answers[i].Value.yes })
}

// watchLists sends the contender for the lock a message if these nodes were asked and none of them lists this process.
// They may have granted it the lock, because its request overtook the one of the holder, or they may have failed.
func (l *Locker) watchLists(name string, lists []int, r *round) {
	var over atomic.Int32
	var noted, asked atomic.Bool
	r.Then(func(i int, a answer) {
		if !slices.Contains(lists, i) {
			return
		}
		if hasListed(a) {
			noted.Store(true)
		}
		if !errors.Is(a.Err, quorum.ErrNotTried) {
			asked.Store(true)
		}
		if over.Add(1) == int32(len(lists)) && asked.Load() && !noted.Load() {
			l.deliver(&message{unlisted: true, name: name})
		}
	})
}

// hasListed reports whether the node has refused the lock, and so has listed the process if it should.
func hasListed(a answer) bool {
	_, guarded := errors.AsType[guardedError](a.Err)
	return a.Over && !a.Value.yes && (a.Err == nil || guarded)
}
