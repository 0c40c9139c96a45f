package jobstore

import (
	"errors"
	"reflect"
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
		return Found{Kind: kind, Written: Written{At{Ballot: ballot, Seq: minute}, State{Mark: at(minute)}}}
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

// Nodes a, b and c are in a list that two of them are new in. What was decided before is on all of them together.
func TestDecide_WhatIsOwed(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	old := func(f Found) Promise { return Promise{Owes: true, Began: at(5), Floor: at(1), Jobs: []Found{f}} }
	fresh := Promise{Owes: true, New: true, Began: at(9), Jobs: []Found{{}}}
	knows := Found{Kind: Stale, Written: Written{At{Ballot: "a"}, State{Mark: at(7), Since: at(2)}}}
	ahead := knows
	ahead.Ahead, ahead.Err = time.Hour, ErrAhead
	fell, deleted := fresh, fresh
	fell.New, deleted.Floor = false, at(8)
	whole := Promise{Began: at(9), Jobs: []Found{{}}}
	for name, test := range map[string]struct {
		nodes   []Promise
		want    Basis // its Known, Floor, Deleted, Empty and SetBack
		problem string
	}{
		"one knows it":                       {[]Promise{old(knows), fresh, fresh}, Basis{Known: true, Floor: at(5).Add(Ahead)}, ""},
		"nobody knows it":                    {[]Promise{old(Found{}), fresh, fresh}, Basis{Floor: at(5).Add(Ahead), Deleted: at(1), Empty: at(5)}, ""},
		"one has lost its data":              {[]Promise{old(knows), fresh, fell}, Basis{Known: true, Floor: at(9).Add(Ahead)}, ""},
		"a new one has deleted it":           {[]Promise{old(knows), fresh, deleted}, Basis{Known: true, Floor: at(8), Deleted: at(8)}, ""},
		"the clocks were set back":           {[]Promise{old(ahead), fresh, fresh}, Basis{Known: true, Floor: at(5).Add(Ahead), SetBack: time.Hour}, ""},
		"one clock was":                      {[]Promise{old(ahead), fresh, fell}, Basis{}, "2 of 3 nodes, 3 needed"},
		"a majority knows what is owed":      {[]Promise{old(ahead), whole, whole}, Basis{Floor: at(9).Add(Ahead), Empty: at(9)}, ""},
		"one that does cannot be read":       {[]Promise{old(knows), {Jobs: []Found{ahead}}, whole}, Basis{Known: true, Floor: at(9).Add(Ahead)}, ""},
		"and nobody else knows what is owed": {[]Promise{old(knows), {Jobs: []Found{ahead}}, fell}, Basis{}, "2 of 3 nodes, 3 needed"},
	} {
		s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 3), make([]string, 3), quorum.Config{})})
		got, err := s.Decide(test.nodes, 0)
		if err != nil || test.problem != "" {
			want.Text(t, err, test.problem)
		}
		got = Basis{Known: got.Known, Floor: got.Floor, Deleted: got.Deleted, Empty: got.Empty, SetBack: got.SetBack}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

// A run that only a minority of the nodes knows has not started if a majority shows that it never will: the previous state is
// chosen.
func TestDecide_RunThatCannotHaveStarted(t *testing.T) {
	knows := func(kind Kind, ballot Ballot, seq int, open ...string) Promise {
		f := Found{Kind: kind, Written: Written{At: At{Ballot: ballot, Seq: seq}}}
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
		"all are different":                 {[]Promise{before, opened, knows(Present, "a", 0)}, At{"a", 1}},
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

// Somebody else has overwritten the job on one node of five.
func TestDecide_WhatContradictsAMajority(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	knows := func(kind Kind, ballot Ballot, seq, mark int, text string) Promise {
		f := Found{Kind: kind, Written: Written{At{ballot, seq}, State{Mark: start.Add(time.Duration(mark) * time.Second)}}, text: text}
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
