package jobstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// A run that only a minority of the nodes knows has not started if a majority shows that it never will: the previous state is
// chosen.
func TestDecide_RunThatCannotHaveStarted(t *testing.T) {
	knows := func(kind Kind, ballot Ballot, seq int, open ...string) Promise {
		f := Found{Kind: kind, At: At{Ballot: ballot, Seq: seq}}
		for _, id := range open {
			f.State.Open = append(f.State.Open, Open{ID: id})
		}
		return Promise{Jobs: []Found{f}}
	}
	before, opened := knows(Present, "a", 1), knows(Present, "a", 2, "run")
	broken := knows(Present, "a", 1)
	broken.Jobs[0].Err = quorum.ErrNoAnswer
	away := Promise{Err: quorum.ErrNoAnswer}
	for name, test := range map[string]struct {
		nodes []Promise
		want  At
	}{
		"a minority has it":                 {[]Promise{before, opened, before}, At{"a", 1}},
		"a minority had it":                 {[]Promise{before, knows(Stale, "a", 2, "run"), before}, At{"a", 1}},
		"of a later leader":                 {[]Promise{before, knows(Present, "b", 1, "run"), before}, At{"a", 1}},
		"a majority has it":                 {[]Promise{before, opened, opened}, At{"a", 2}},
		"one node is away":                  {[]Promise{before, opened, away}, At{"a", 2}},
		"one node cannot be read":           {[]Promise{before, opened, broken}, At{"a", 2}},
		"one node has lost its state":       {[]Promise{before, opened, knows(Stale, "a", 1)}, At{"a", 2}},
		"one node does not know the job":    {[]Promise{before, opened, {Jobs: []Found{{}}}}, At{"a", 2}},
		"all are different":                 {[]Promise{before, opened, knows(Present, "a", 0)}, At{"a", 2}},
		"the run was open before":           {[]Promise{knows(Present, "a", 1, "run"), opened, knows(Present, "a", 1, "run")}, At{"a", 2}},
		"another run was open before":       {[]Promise{knows(Present, "a", 1, "old"), opened, knows(Present, "a", 1, "old")}, At{"a", 1}},
		"the later state opens nothing":     {[]Promise{before, knows(Present, "a", 2), before}, At{"a", 2}},
		"three of five, two later":          {[]Promise{before, opened, before, knows(Present, "a", 3, "run"), before}, At{"a", 1}},
		"two of five, three different ones": {[]Promise{before, opened, before, knows(Present, "a", 3, "run"), away}, At{"a", 3}},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(test.nodes)
			s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, n), make([]string, n), quorum.Config{Timeout: time.Second})})
			got, err := s.Decide(test.nodes, 0)
			if err != nil || got.At != test.want {
				t.Errorf("got %+v, %v, want %v", got.At, err, test.want)
			}
		})
	}
}
