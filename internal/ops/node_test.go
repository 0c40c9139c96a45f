package ops_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestNodesOf_SaysWhichServeAnotherList(t *testing.T) {
	one, old, now := joined(1, 1), joined(3, 1), joined(3, 2)
	fresh := redlock.NodeStatus{List: redlock.NodeList{State: redlock.ListFresh}}
	claimed := redlock.NodeStatus{List: redlock.NodeList{State: redlock.ListClaimed, Nodes: 3, Turn: 2}}
	silent := redlock.NodeStatus{Err: errors.New("no answer")}
	unfit := redlock.NodeStatus{List: old.List, Err: errors.New("its clock is off")}
	for name, c := range map[string]struct {
		list   []redlock.NodeStatus
		others []int
	}{
		"all serve it":           {[]redlock.NodeStatus{now, now, now}, nil},
		"one is away":            {[]redlock.NodeStatus{now, silent, now}, nil},
		"one is left behind":     {[]redlock.NodeStatus{old, now, now}, []int{0}},
		"one has gone ahead":     {[]redlock.NodeStatus{old, now, old}, []int{1}},
		"from one to three":      {[]redlock.NodeStatus{one, fresh, fresh}, []int{0}},
		"it is not complete yet": {[]redlock.NodeStatus{old, claimed, claimed}, []int{0}},
		"no majority serves one": {[]redlock.NodeStatus{old, now, silent}, []int{0, 1}},
		"one does not count":     {[]redlock.NodeStatus{old, unfit, now}, []int{2}},
		"left behind and unfit":  {[]redlock.NodeStatus{unfit, now, now}, nil},
		"from three to one":      {[]redlock.NodeStatus{old}, []int{0}},
		"a list of one":          {[]redlock.NodeStatus{one}, nil},
	} {
		var others []int
		for i, n := range ops.NodesOf(c.list) {
			if text := c.list[i].List.String(); n.List == text+", another list" {
				others = append(others, i)
			} else if n.Err == "" && n.List != text || n.Err != "" && n.List != "" {
				t.Errorf("%s: node %d is in %q", name, i, n.List)
			}
		}
		if !slices.Equal(others, c.others) {
			t.Errorf("%s: in another list: %v, want %v", name, others, c.others)
		}
	}
}

func joined(nodes, turn int) redlock.NodeStatus {
	return redlock.NodeStatus{List: redlock.NodeList{State: redlock.ListJoined, Nodes: nodes, Turn: turn}}
}
