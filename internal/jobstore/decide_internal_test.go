package jobstore

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestDecide(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	knows := func(kind Kind, ballot Ballot, minute int) Found {
		return Found{Kind: kind, At: At{Ballot: ballot, Seq: minute}, State: State{Mark: at(minute)}}
	}
	node := func(began int, f Found) Promise { return Promise{Began: at(began), Jobs: []Found{f}} }
	none, broken := Found{}, Found{Kind: Present, Err: errors.New("it is cut off")}
	away := Promise{Err: quorum.ErrNoAnswer}
	deleted := Promise{Began: at(0), Floor: at(7), Jobs: []Found{none}}
	for name, test := range map[string]struct {
		nodes []Promise
		mark  int // minutes; -1: no node knows the job, -2: an error
		floor time.Time
	}{
		"all the same":              {[]Promise{node(0, knows(Present, "a", 9)), node(0, knows(Present, "a", 9)), away}, 9, time.Time{}},
		"the later write":           {[]Promise{node(0, knows(Present, "a", 9)), node(0, knows(Present, "a", 8)), away}, 9, time.Time{}},
		"the larger ballot":         {[]Promise{node(0, knows(Present, "a", 9)), node(0, knows(Present, "b", 8)), away}, 8, time.Time{}},
		"two of three, one lost it": {[]Promise{node(0, knows(Present, "a", 9)), node(5, none), node(0, knows(Present, "a", 9))}, 9, time.Time{}},
		"one knows, one lost it":    {[]Promise{node(0, knows(Present, "a", 9)), node(5, none), away}, 9, at(5).Add(Ahead)},
		"one knows, one is new":     {[]Promise{node(0, knows(Present, "a", 9)), node(5, knows(Stale, "b", 3)), away}, 3, at(5).Add(Ahead)},
		"both were restarted":       {[]Promise{node(6, knows(Stale, "a", 3)), node(5, knows(Stale, "a", 4)), away}, 4, at(6).Add(Ahead)},
		"nobody knows it":           {[]Promise{node(0, none), node(5, none), node(1, none)}, -1, at(5).Add(Ahead)},
		"it was deleted":            {[]Promise{deleted, node(5, none), away}, -1, at(7)},
		"one cannot be read":        {[]Promise{node(0, broken), node(0, knows(Present, "a", 9)), node(0, knows(Present, "a", 9))}, 9, time.Time{}},
		"too few can be read":       {[]Promise{node(0, broken), node(0, knows(Present, "a", 9)), away}, -2, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range test.nodes {
				test.nodes[i].Node = i
			}
			s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 3), make([]string, 3), quorum.Config{})})
			got, err := s.Decide(test.nodes, 0)
			if err != nil {
				if test.mark != -2 || !errors.Is(err, ErrNoQuorum) {
					t.Errorf("%v", err)
				}
				return
			}
			if got.Known != (test.mark >= 0) || got.Known && !got.State.Mark.Equal(at(test.mark)) || !got.Floor.Equal(test.floor) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDecide_TheNewestSettingHolds(t *testing.T) {
	old, set := Setting{Version: 5, Tie: "ffffff"}, Setting{Version: 6, Tie: "000000", On: true}
	s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 1), make([]string, 1), quorum.Config{})})
	for name, f := range map[string]Found{
		"of the node":     {Kind: Present, Pause: set, State: State{Pause: old}},
		"of the state":    {Kind: Present, Pause: old, State: State{Pause: set}},
		"of nobody else":  {Kind: None, Pause: set},
		"of the same age": {Kind: Present, Pause: set, State: State{Pause: Setting{Version: 6}}},
	} {
		got, err := s.Decide([]Promise{{Time: timeOf(1), Jobs: []Found{f}}}, 0)
		if err != nil || got.Pause != set {
			t.Errorf("%s: %+v, %v", name, got.Pause, err)
		}
	}
}

// The newest state opens a run; the previous one does not.
func TestDecide_AnOlderState(t *testing.T) {
	older := Found{Kind: Present, At: At{Ballot: "a", Seq: 1}}
	newer := Found{Kind: Present, At: At{Ballot: "a", Seq: 2}, State: State{Open: []Open{{ID: "run"}}}}
	left := older
	left.Kind = Stale
	away := Promise{Err: quorum.ErrNoAnswer}
	node := func(f Found) Promise { return Promise{Jobs: []Found{f}} }
	s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 3), make([]string, 3), quorum.Config{})})
	for name, test := range map[string]struct {
		nodes []Promise
		want  At
	}{
		"a majority has it":             {[]Promise{node(newer), node(older), node(older)}, older.At},
		"one has it, and one is away":   {[]Promise{node(newer), node(older), away}, newer.At},
		"one has it, one lost its own":  {[]Promise{node(newer), node(older), node(left)}, newer.At},
		"one has it, two have the next": {[]Promise{node(older), node(newer), node(newer)}, newer.At},
	} {
		got, err := s.Decide(test.nodes, 0)
		if err != nil || got.At != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Somebody else has overwritten the job on one node of five.
func TestDecide_WhatContradictsAMajority(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	knows := func(kind Kind, ballot Ballot, seq, mark int, text string) Promise {
		f := Found{Kind: kind, At: At{ballot, seq}, State: State{Mark: start.Add(time.Duration(mark) * time.Second)}, text: text}
		return Promise{Jobs: []Found{f}}
	}
	good := knows(Present, "b", 5, 9, "nine")
	away := Promise{Err: quorum.ErrNoAnswer}
	s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 5), make([]string, 5), quorum.Config{Timeout: time.Second})})
	for name, test := range map[string]struct {
		bad  Promise
		why  string // why it is not used; empty: it is used
		at   At
		mark int
	}{
		"another mark":               {knows(Present, "b", 5, 3, "three"), "is not the one that a majority has", At{"b", 5}, 9},
		"a later mark":               {knows(Present, "b", 5, 10, "ten"), "is not the one that a majority has", At{"b", 5}, 9},
		"another number":             {knows(Present, "b", 99, 3, "three"), "", At{"b", 5}, 9},
		"another ballot":             {knows(Stale, "c", 1, 3, "three"), "", At{"b", 5}, 9},
		"a later state":              {knows(Present, "b", 6, 10, "ten"), "", At{"b", 5}, 9},
		"a later state, no new tick": {knows(Present, "b", 6, 9, "an end"), "", At{"b", 6}, 9},
		"an older state":             {knows(Present, "b", 4, 8, "eight"), "", At{"b", 5}, 9},
		"of an incarnation before":   {knows(Stale, "b", 5, 9, "nine"), "", At{"b", 5}, 9},
	} {
		got, err := s.Decide([]Promise{test.bad, good, away, good, good}, 0)
		if err != nil || got.At != test.at || !got.State.Mark.Equal(start.Add(time.Duration(test.mark)*time.Second)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		err = test.bad.Jobs[0].contradicts(&good.Jobs[0])
		if (err == nil) != (test.why == "") {
			t.Errorf("%s: %v", name, err)
		} else if err != nil {
			want.Text(t, err, test.why)
		}
	}
}
