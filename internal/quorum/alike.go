package quorum

import (
	"cmp"
	"maps"
	"slices"
)

// A single node may say anything. A statement counts if so many nodes make it that a majority may know it: nodes that
// have not answered, or have lost their state, may have known it, too.

// Enough returns how many of the collected nodes must agree on something that a majority may know. collected counts the
// nodes that have answered and have not lost their state.
func (q *Quorum) Enough(collected int) int { return max(collected-q.Majority()+1, 1) }

// DropRows drops the rows for which is returns true from all lists.
func DropRows[T any](lists [][]T, is func(T) bool) {
	for i := range lists {
		lists[i] = slices.DeleteFunc(lists[i], is)
	}
}

// NewestRows returns the newest n rows of the nodes' lists, each once. Among rows of the same age, those that more
// nodes have come first. Rows that enough nodes have are preferred, so that no single node's rows push out those of the
// others; a node may still have missed a row, or be the only one that has it.
func NewestRows[T comparable](lists [][]T, enough, n int, order func(a, b T) int) []T {
	votes := make(map[T]int)
	for _, list := range lists {
		own := make(map[T]bool, len(list)) // a node may list a row twice
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

// AreAlike reports whether the answers received so far are alike, by comparing each with the first. If alike is nil,
// they are.
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

// SameRows reports whether two nodes' lists are equal.
func SameRows[T comparable](a, b *[]T) bool { return slices.Equal(*a, *b) }
