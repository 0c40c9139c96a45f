package redlock

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// The processes that wait for a lock stand in line on two nodes: an entry says who waits, and until when it promises to
// be there. A free lock is for the first in line; the one at place k may take it k x apart after the release. A release
// tells the first two, each on its own channel. So it costs the nodes the same whether three processes wait or three
// hundred, and they get the lock in turn.
//
// The line is only a hint. A process that misses a message asks again when the hold that it knows of must have ended,
// and entries whose promise has passed are dropped: those of the dead, the closed and the impatient alike.
const (
	// lineNodes is how many nodes keep the line of a lock. With one, its failure would cost all waiting processes their
	// place and the message.
	lineNodes = 2
	// apart is the time that each place in line has to itself before the next one may take the lock, too.
	apart = 10 * time.Millisecond
	// mostInLine is how many processes a line has; the scripts have this number, too.
	mostInLine = 1000
)

// tells are what a release does to the line of its lock; release.lua knows their format.
type tells struct {
	released           string // the process goes, the first two are notified
	failed, failedOnce string // the first two are notified that an attempt which may have looked like a hold has failed
	again              string // the process, whose attempt has failed, is put first
	nothing            string
	leave, giveWay     string // free nothing; the process goes, the first two are notified if the lock is free
	more               string // frees nothing; the first two, who did not come, go, and the next two are notified
}

// newTells makes them for a process. After a failed attempt it promises to be there for that long.
func newTells(process string, promise time.Duration) *tells {
	back := fmt.Sprintf("%s%d", process, promise.Milliseconds())
	return &tells{
		released: process + "release", failed: back + "failed", failedOnce: process + "failed", again: back + "again",
		nothing: process + "nothing", leave: process + "leave", giveWay: process + "leave", more: process + "more",
	}
}

// after returns what the removal of a failed attempt does on a node. A node that granted the lock has removed the
// process from its line. looksHeld says that others may have taken the attempt for a hold.
func (t *tells) after(g *grant, node int, looksHeld bool) *string {
	back := g.goesOn && g.listing.has(node)
	switch {
	case looksHeld && back:
		return &t.failed
	case looksHeld:
		return &t.failedOnce
	case back:
		return &t.again
	}
	return &t.nothing
}

// order returns the order in which contenders for a lock ask the nodes. It is the same for all of them, so one
// contender wins and the others learn that from the first node. It depends only on the name and the addresses
// (rendezvous hashing), not on the order of the list.
func order(nodes *quorum.Quorum, name string) []int {
	order, weights := make([]int, nodes.Size()), make([]uint64, nodes.Size())
	h, text := fnv.New64a(), make([]byte, 0, 256)
	for i := range order {
		text = append(append(append(text[:0], nodes.Addr(i)...), 0), name...)
		h.Reset()
		_, _ = h.Write(text) // never fails
		order[i], weights[i] = i, h.Sum64()
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
	return order
}

// lineOf returns the nodes that keep the line of a lock, given the order in which all processes ask: the first ones that
// are not slow.
func lineOf(nodes *quorum.Quorum, order []int) []int { return firstInTime(order, nodes.Slow) }

func firstInTime(order []int, slow func(node int) bool) []int {
	line, late := make([]int, 0, len(order)), make([]int, 0, len(order))
	for _, i := range order { // each is judged once: it may become slow meanwhile
		if slow(i) {
			late = append(late, i)
		} else {
			line = append(line, i)
		}
	}
	line = append(line, late...)
	return line[:min(lineNodes, len(line))]
}

// leaveLine removes this process from the line of a lock. If the lock is free, the next ones are notified. It does so
// because nobody of the process waits any more (leave), or gives way to others (giveWay).
func (l *Locker) leaveLine(name, value string, tell *string) {
	for _, i := range lineOf(l.quorum, order(l.quorum, name)) {
		l.janitors[i].add(leftover{
			kind: toLeave, field: fieldOf(name), value: value, until: l.clock.Now().Add(confirmAfter), tell: tell,
		})
	}
}
