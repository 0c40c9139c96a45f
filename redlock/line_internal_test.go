package redlock

import (
	"slices"
	"testing"
)

func TestLineOf_PrefersNodesThatAreNotSlow(t *testing.T) {
	for _, of := range []struct{ order, slow, want []int }{
		{[]int{2, 0, 1}, nil, []int{2, 0}},
		{[]int{2, 0, 1}, []int{2}, []int{0, 1}},
		{[]int{2, 0, 1}, []int{0, 1, 2}, []int{2, 0}},
		{[]int{0}, []int{0}, []int{0}},
	} {
		got := firstInTime(of.order, func(i int) bool { return slices.Contains(of.slow, i) })
		if !slices.Equal(got, of.want) {
			t.Errorf("of %v, slow %v: %v, want %v", of.order, of.slow, got, of.want)
		}
	}
}

// A node may become slow, or no longer be, while the line is made up.
func TestLineOf_HasEachNodeOnceWhateverBecomesOfIt(t *testing.T) {
	for nodes := 1; nodes <= 3; nodes++ {
		for first := range 2 {
			asked, order := first, []int{0, 1, 2}[:nodes]
			line := firstInTime(order, func(int) bool { asked++; return asked%2 == 0 })
			slices.Sort(line)
			if len(slices.Compact(line)) != min(lineNodes, nodes) {
				t.Errorf("of %d nodes: %v", nodes, line)
			}
		}
	}
}
