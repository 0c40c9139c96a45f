package nodeclock_test

import (
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
)

// seenAt has each node seen once, at one instant, so that its offset lies in the interval, plus or minus 1 ms and the
// drift over its width. A reversed interval means a node never seen.
func seenAt(offsets [][2]time.Duration) *nodeclock.Clocks {
	w := newWorld(len(offsets))
	at := w.start.Add(time.Hour)
	for i, o := range offsets {
		if o[1] >= o[0] {
			w.Note(i, at.Add(-(o[1] - o[0])), at, (w.nodes[0] + o[0]).Microseconds(), 0)
		}
	}
	return w.Clocks
}

// TestAgree_IsAMaximumClique tries everything else.
func TestAgree_OfTheNodesThatAreAsked(t *testing.T) {
	const s = time.Second
	at := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	three := [][2]time.Duration{at(0), at(5 * s), at(s)}
	for name, test := range map[string]struct {
		offsets   [][2]time.Duration
		ask, want []int
	}{
		"two decide nothing":     {three, []int{1, 2}, []int{1}},
		"none asked":             {three, nil, nil},
		"fewer than three nodes": {three[:2], []int{0, 1}, []int{0, 1}},
	} {
		if got := seenAt(test.offsets).Agree(test.ask); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestAgree_WidensWhatItKnowsOfOldByTheDrift(t *testing.T) {
	w := newWorld(3)
	w.nodes[1] = w.nodes[0] + 2*skew
	w.askAll(t, 0)
	w.pass(200 * time.Second) // in which either may gain 2 s
	w.askAll(t, 1)
	if got := w.Agree([]int{0, 1}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	w.askAll(t, 0)
	if got := w.Agree([]int{0, 1}); len(got) != 1 {
		t.Errorf("%v, seen again", got)
	}
}

func TestAgree_IsAMaximumCliqueAsFoundByTryingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offsets := make([][2]time.Duration, rapid.IntRange(3, 9).Draw(t, "nodes"))
		var nodes []int
		for i := range offsets {
			lo := time.Duration(rapid.IntRange(0, 40).Draw(t, "offset")) * 100 * ms
			offsets[i] = [2]time.Duration{lo, lo + time.Duration(rapid.IntRange(-1, 5).Draw(t, "width"))*100*ms}
			nodes = append(nodes, i)
		}
		got := seenAt(offsets).Agree(nodes)

		var best []int
		for set := range 1 << len(offsets) {
			var members []int
			for i := range offsets {
				if set&(1<<i) != 0 {
					members = append(members, i)
				}
			}
			larger := bits.OnesCount(uint(set)) > len(best)
			same := len(members) == len(best) && slices.Compare(members, best) < 0
			if (larger || same) && agreePairwise(offsets, members) {
				best = members
			}
		}
		if !slices.Equal(got, best) {
			t.Fatalf("%v, want %v of %v", got, best, offsets)
		}
	})
}

func agreePairwise(offsets [][2]time.Duration, members []int) bool {
	for _, i := range members {
		for _, j := range members {
			a, b := offsets[i], offsets[j]
			margin := 2*ms + time.Duration(drift*float64(a[1]-a[0]+b[1]-b[0]))
			if a[1] < a[0] || b[1] < b[0] || b[0]-a[1] > skew+margin {
				return false
			}
		}
	}
	return true
}
