package jobstore

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// What a majority has from the future is from before its clocks were set back. What fewer nodes have is not believed.
func TestDecide_StatesOfTheFuture(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start.Add(time.Hour)
	ballot := NewBallot(0, start)
	knows := func(mark, seq int) Promise {
		text := State{Mark: start.Add(time.Duration(mark) * time.Hour)}
		f := raw{kind: Stale, at: At{ballot, seq}, state: string(text.append(nil))}
		p := Promise{Time: now, Began: now, Jobs: []Found{{}}}
		f.decode(now, &p.Jobs[0])
		return p
	}
	none := Promise{Time: now, Began: now, Jobs: []Found{{}}}
	away := Promise{Err: quorum.ErrNoAnswer}
	for name, test := range map[string]struct {
		nodes []Promise
		back  time.Duration
		mark  int // hours; -1: an error
	}{
		"the only node":                 {[]Promise{knows(4, 1)}, 3 * time.Hour, 4},
		"all":                           {[]Promise{knows(4, 1), knows(4, 1), knows(4, 1)}, 3 * time.Hour, 4},
		"a majority, one is away":       {[]Promise{knows(4, 2), knows(3, 1), away}, 2 * time.Hour, 4},
		"a majority":                    {[]Promise{knows(4, 2), knows(0, 1), knows(4, 2)}, 3 * time.Hour, 4},
		"one is far ahead of the other": {[]Promise{knows(9000, 3), knows(2, 2), knows(0, 1)}, time.Hour, 2},
		"one of three":                  {[]Promise{knows(4, 2), knows(0, 1), knows(0, 1)}, 0, 0},
		"one of three, one is away":     {[]Promise{knows(4, 2), knows(0, 1), away}, 0, -1},
		"one of three, two are new":     {[]Promise{knows(4, 2), none, none}, 0, 0},
		"two of five":                   {[]Promise{knows(4, 2), knows(4, 2), knows(0, 1), away, away}, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(test.nodes)
			for i := range test.nodes {
				test.nodes[i].Node = i
			}
			s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, n), make([]string, n), quorum.Config{})})
			got, err := s.Decide(test.nodes, 0)
			if test.mark < 0 {
				if !errors.Is(err, ErrNoQuorum) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			mark := start.Add(time.Duration(test.mark) * time.Hour)
			if err != nil || got.SetBack != test.back || got.Known && !got.State.Mark.Equal(mark) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A leader takes the largest epoch that a majority has promised. A single node raises it by one at most.
func TestEpoch(t *testing.T) {
	taken := NewBallot(2, time.Time{})
	s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 3), make([]string, 3), quorum.Config{})})
	node := func(epoch int) Promise {
		return Promise{Err: &FencedError{Header: Header{Promised: NewBallot(epoch, time.Time{})}}}
	}
	away, good := Promise{Err: quorum.ErrNoAnswer}, Promise{}
	for want, all := range map[int][][]Promise{
		2: {{good, good, good}, {good, good, node(1)}, {node(0), away, away}, {away, away, away}},
		3: {{good, good, node(3)}, {good, good, node(maxEpoch)}, {node(3), node(3), good}, {node(7), away, away}, {node(7), good, away}},
		4: {{node(3), node(7), node(1)}, {node(4), node(4), node(4)}},
		7: {{node(7), node(7), good}, {node(7), away, node(7)}},
	} {
		for _, promises := range all {
			if got := s.Epoch(taken, promises); got != want {
				t.Errorf("%d instead of %d: %v", got, want, promises)
			}
		}
	}
}
