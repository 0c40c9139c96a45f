package redlock

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

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
