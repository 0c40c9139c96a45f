package jobstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// What a majority has from the future is from before its clocks were set back. What fewer nodes have is not believed.
func TestDecide_StatesOfTheFuture(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start.Add(time.Hour)
	ballot := NewBallot(start)
	knows := func(mark, seq int) Promise {
		text := State{Mark: start.Add(time.Duration(mark) * time.Hour)}
		f := raw{kind: Stale, at: At{ballot, seq}, state: string(text.append(nil))}
		return Promise{Time: now, Began: now, Jobs: []Found{f.decode(now)}}
	}
	sets := func(hour int) Promise {
		p := knows(0, 1)
		f := raw{kind: Present, at: p.Jobs[0].At, state: p.Jobs[0].text}
		f.pause = Setting{Version: start.Add(time.Duration(hour) * time.Hour).UnixMicro(), On: true}
		p.Jobs[0] = f.decode(now)
		return p
	}
	none := Promise{Time: now, Began: now, Jobs: []Found{{}}}
	away := Promise{Err: quorum.ErrNoAnswer}
	for name, test := range map[string]struct {
		nodes  []Promise
		back   time.Duration
		mark   int // hours; -1: an error
		paused bool
	}{
		"the only node":                 {[]Promise{knows(4, 1)}, 3 * time.Hour, 4, false},
		"all":                           {[]Promise{knows(4, 1), knows(4, 1), knows(4, 1)}, 3 * time.Hour, 4, false},
		"a majority, one is away":       {[]Promise{knows(4, 2), knows(3, 1), away}, 2 * time.Hour, 4, false},
		"a majority":                    {[]Promise{knows(4, 2), knows(0, 1), knows(4, 2)}, 3 * time.Hour, 4, false},
		"one is far ahead of the other": {[]Promise{knows(9000, 3), knows(2, 2), knows(0, 1)}, time.Hour, 2, false},
		"one of three":                  {[]Promise{knows(4, 2), knows(0, 1), knows(0, 1)}, 0, 0, false},
		"one of three, one is away":     {[]Promise{knows(4, 2), knows(0, 1), away}, 0, -1, false},
		"one of three, two are new":     {[]Promise{knows(4, 2), none, none}, 0, 0, false},
		"two of five":                   {[]Promise{knows(4, 2), knows(4, 2), knows(0, 1), away, away}, 0, -1, false},
		"a pause of the only node":      {[]Promise{sets(4)}, 3 * time.Hour, 0, true},
		"a pause of a majority":         {[]Promise{sets(4), sets(4), knows(0, 1)}, 3 * time.Hour, 0, true},
		"a pause of one":                {[]Promise{sets(4), sets(0), sets(0)}, 0, 0, true},
		"a pause of one, one is away":   {[]Promise{sets(4), knows(0, 1), away}, 0, 0, false},
		"a pause and a state, of three": {[]Promise{sets(4), knows(4, 2), away}, 3 * time.Hour, 4, true},
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
			if err != nil || got.SetBack != test.back || got.Known && !got.State.Mark.Equal(mark) || got.Pause.On != test.paused {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Ballots that are taken after the clocks were set back are smaller than those before.
func TestDecide_AStateAfterASetBackIsTheLaterOne(t *testing.T) {
	found := func(ballot Ballot, back, mark int) Promise {
		return Promise{Jobs: []Found{{Kind: Present, text: fmt.Sprint(ballot, back, mark),
			Written: Written{At{Ballot: ballot, Seq: 1}, State{SetBacks: back, Mark: timeOf(int64(mark))}}}}}
	}
	s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 3), make([]string, 3), quorum.Config{})})
	away := Promise{Err: quorum.ErrNoAnswer}
	for name, nodes := range map[string][]Promise{
		"one of two":                         {found("b", 0, 1), found("a", 1, 2), away},
		"one of three":                       {found("b", 0, 1), found("a", 1, 2), found("c", 0, 1)},
		"a majority":                         {found("a", 1, 2), found("b", 0, 1), found("a", 1, 2)},
		"the other one is of another time":   {found("a", 1, 2), found("b", 0, 9), away},
		"only one node has a later set back": {found("a", 1, 2), found("0", 2, 9), found("a", 1, 2)},
	} {
		if got, err := s.Decide(nodes, 0); err != nil || !got.State.Mark.Equal(timeOf(2)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
