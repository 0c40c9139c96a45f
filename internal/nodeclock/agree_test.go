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
			w.Note(i, at.Add(-(o[1] - o[0])), at, (w.nodes[0] + o[0]).Microseconds())
		}
	}
	return w.Clocks
}

func TestAgree_IsTheLargestSetThatAgreesPairwise(t *testing.T) {
	const s = time.Second
	never := [2]time.Duration{1, 0}
	at := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	for name, test := range map[string]struct {
		offsets [][2]time.Duration
		ask     []int
		want    []int
	}{
		"all":                      {[][2]time.Duration{at(0), at(s / 2), at(s)}, []int{0, 1, 2}, []int{0, 1, 2}},
		"one is off":               {[][2]time.Duration{at(0), at(5 * s), at(s)}, []int{0, 1, 2}, []int{0, 2}},
		"the order is no matter":   {[][2]time.Duration{at(0), at(5 * s), at(s)}, []int{2, 1, 0}, []int{0, 2}},
		"two decide nothing":       {[][2]time.Duration{at(0), at(5 * s), at(s)}, []int{1, 2}, []int{1}},
		"one never seen":           {[][2]time.Duration{at(0), never, at(s)}, []int{0, 1, 2}, []int{0, 2}},
		"none ever seen":           {[][2]time.Duration{never, never, never}, []int{0, 1, 2}, nil},
		"none asked":               {[][2]time.Duration{at(0), at(0), at(0)}, nil, nil},
		"all apart":                {[][2]time.Duration{at(9 * s), at(5 * s), at(0)}, []int{0, 1, 2}, []int{0}},
		"the middle is in between": {[][2]time.Duration{at(0), at(s), at(2 * s)}, []int{0, 1, 2}, []int{0, 1}},
		"and so from the other end": {
			[][2]time.Duration{at(2 * s), at(s), at(0)}, []int{0, 1, 2}, []int{0, 1},
		},
		"a round trip is allowed for": {
			[][2]time.Duration{at(0), {s / 2, 3 * s}, at(2 * s)}, []int{0, 1}, []int{0, 1},
		},
		"one that may agree with either": {
			[][2]time.Duration{at(0), {s / 2, 3 * s}, at(4 * s)}, []int{0, 1, 2}, []int{0, 1},
		},
		"five": {
			[][2]time.Duration{at(9 * s), at(3 * s), at(s), at(5 * s / 2), at(7 * s / 2)},
			[]int{0, 1, 2, 3, 4}, []int{1, 3, 4},
		},
		"fewer than three nodes": {[][2]time.Duration{at(0), at(9 * s)}, []int{1, 0}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := seenAt(test.offsets).Agree(test.ask); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
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
