package quorum_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// In one decision, only nodes that serve the same list count: three yeses under two lists are no majority.
func TestOfOneList_NodesOfTwoListsDoNotDecideTogether(t *testing.T) {
	for _, of := range []struct {
		labels []string // of the nodes that agree
		want   []int
	}{
		{[]string{"a", "a", "a"}, []int{0, 1, 2}},
		{[]string{"a", "b", "b"}, []int{1, 2}},
		{[]string{"a", "b", "a"}, []int{0, 2}},
		{[]string{"a", "b", "c"}, []int{0}},
		{[]string{"", "", "a"}, []int{0, 1}},
		{nil, nil},
	} {
		var answers []answer
		var agree []int
		for i, label := range of.labels {
			a := answer{Over: true}
			a.Label = label
			answers, agree = append(answers, a), append(agree, i)
		}
		if got := quorum.OfOneList(agree, answers); !slices.Equal(got, of.want) {
			t.Errorf("%q: nodes %v, want %v", of.labels, got, of.want)
		}
	}

	q := quorum.New(make([]redis.UniversalClient, 3), []string{"1", "2", "3"}, config())
	answers := make([]answer, 3)
	for i, label := range []string{"a", "b", "c"} {
		answers[i].Over, answers[i].Label = true, label
	}
	if short, ok := quorum.Collect(q, answers, quorum.Succeeded); ok || short.Got != 1 || !errors.Is(short.Nodes[1].Err, quorum.ErrOtherList) {
		t.Errorf("collected %+v, %t", short, ok)
	}
	if !quorum.IsDecided(q, answers[:2], quorum.Succeeded) {
		t.Error("two answers of two nodes that disagree are not decided")
	}
}
