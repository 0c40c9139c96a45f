package due_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/due"
)

func TestQueue_ReturnsInOrderWhatWasNotRemoved(t *testing.T) {
	var q due.Queue[int]
	var left []int
	now := time.Now()
	for _, n := range rand.Perm(100) {
		item := q.Add(n, now.Add(time.Duration(n)))
		if n%3 == 0 {
			if !q.Remove(item) || q.Remove(item) {
				t.Error("an item can be removed once")
			}
		} else {
			left = append(left, n)
		}
	}
	slices.Sort(left)
	var got []int
	for q.Len() > 0 {
		first := q.First()
		got = append(got, first.Value)
		q.Remove(first)
	}
	if !slices.Equal(got, left) || q.First() != nil {
		t.Errorf("got %v, want %v", got, left)
	}
}
