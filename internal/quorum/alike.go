package quorum

import (
	"cmp"
	"maps"
	"slices"
)

// One node may say anything. What it says counts if so many nodes say it that a majority can have it: those that have not answered,
// or have lost what they knew, may have it too.

// Enough returns how many of the nodes that were heard, and have lost nothing, must say the same, so that without them no majority
// could.
func (q *Quorum) Enough(heard int) int { return max(heard-q.Majority()+1, 1) }

// DropRows drops the rows of all lists for which something is true.
func DropRows[T any](lists [][]T, is func(T) bool) {
	for i := range lists {
		lists[i] = slices.DeleteFunc(lists[i], is)
	}
}

// NewestRows returns the newest n rows of the nodes' lists, each once; of those of the same age that first which most nodes have. Those that enough nodes have are preferred: a node may have
// missed one, or be the only one that has it, but no node's rows drive out those of the others.
func NewestRows[T comparable](lists [][]T, enough, n int, order func(a, b T) int) []T {
	votes := make(map[T]int)
	for _, list := range lists {
		own := make(map[T]bool, len(list)) // a node may have one twice
		for _, row := range list {
			if !own[row] {
				own[row] = true
				votes[row]++
			}
		}
	}
	rows := slices.SortedFunc(maps.Keys(votes), func(a, b T) int {
		return cmp.Or(cmp.Compare(min(votes[b], enough), min(votes[a], enough)), order(a, b), cmp.Compare(votes[b], votes[a]))
	})
	rows = rows[:min(n, len(rows))]
	slices.SortStableFunc(rows, order)
	return rows
}

// AreAlike reports whether the answers that have come are alike: each is compared with the first. Without a comparison they are.
func AreAlike[T any](answers []Answer[T], alike func(a, b *T) bool) bool {
	var first *T
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over || a.Err != nil:
		case first == nil || alike == nil:
			first = &a.Value
		case !alike(first, &a.Value):
			return false
		}
	}
	return true
}

// SameRows reports whether two nodes' lists are the same.
func SameRows[T comparable](a, b *[]T) bool { return slices.Equal(*a, *b) }
