package main

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// writes returns writes of a replica, in a turn that begins at start.
func writes(replica int, turn, start, end time.Duration) (all []event) {
	for at := start; at <= end; at += 10 * ms {
		all = append(all, event{At: at, Replica: replica, Kind: write, Turn: int64(turn)})
	}
	return all
}

func with(token uint64, events []event) []event {
	for i := range events {
		events[i].Token = token
	}
	return events
}

func TestJudge_Holders(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []event
		want   held
	}{
		{"one after the other", append(writes(0, 0, 0, 500*ms), writes(1, 600*ms, 600*ms, 900*ms)...), held{Next: 100 * ms}},
		{"two at once", append(writes(0, 0, 0, 800*ms), writes(1, 600*ms, 600*ms, 900*ms)...), held{200 * ms, 20, 0, 100 * ms}},
		{
			"it was stopped, and writes when it wakes",
			append(append(writes(0, 0, 0, 500*ms), writes(1, 600*ms, 600*ms, 2000*ms)...), writes(0, 0, 1500*ms, 1520*ms)...),
			held{20 * ms, 3, 0, 100 * ms},
		},
		{
			"with tokens",
			append(append(with(5, writes(0, 0, 0, 500*ms)), with(6, writes(1, 600*ms, 600*ms, 2000*ms))...), with(5, writes(0, 0, 1500*ms, 1520*ms))...),
			held{20 * ms, 0, 3, 100 * ms},
		},
		{"nobody follows", writes(0, 0, 0, 900*ms), held{Next: -1}},
	} {
		if got := judgeHolder(c.events, 500*ms); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestJudge_Ticks(t *testing.T) {
	start := time.Unix(1000, 0)
	var events []event
	for _, n := range []time.Duration{1, 2, 2, 4} {
		events = append(events, event{At: n * tickEvery, Kind: begin, Tick: start.Add(n * tickEvery)})
	}
	want := ran{Ticks: 4, Twice: 1, Lost: 1, Next: tickEvery}
	if got := judgeTicks(events, start, start.Add(5*tickEvery), 3*tickEvery); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
