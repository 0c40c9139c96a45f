package redlock

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// order is in which the nodes are asked by those who contend for a lock: the same for everybody, so that one of them wins
// and the others are told by the first node. It is made of the name and the addresses (rendezvous hashing), so that lists
// in another order agree.
func (l *Locker) order(name string) []int {
	order, weights := make([]int, l.size), make([]uint64, l.size)
	h, text := fnv.New64a(), make([]byte, 0, 256)
	for i := range order {
		text = append(append(append(text[:0], l.quorum.Addr(i)...), 0), name...)
		h.Reset()
		_, _ = h.Write(text) // it cannot fail
		order[i], weights[i] = i, h.Sum64()
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
	return order
}

// firstOf is the node that those who contend for a lock ask first: the first one of the order that is not slow.
func (l *Locker) firstOf(name string) int {
	order := l.order(name)
	for _, i := range order {
		if !l.quorum.Slow(i) {
			return i
		}
	}
	return order[0]
}
