package nodeclock_test

import (
	"testing"
	"time"
)

// jumps fails the test unless the node's reply shows a jump by that amount, to within 1 s.
func (w *world) jumps(t *testing.T, node int, by time.Duration) {
	t.Helper()
	if s := w.ask(node, ms); s.Slept != 0 || !near(s.Jumped, by, time.Second) {
		t.Errorf("node %d: %+v, want a jump by %v", node, s, by)
	}
	w.jumped(t, node, by)
}

// wakes fails the test unless the node's reply shows a sleep of the process, neither shorter than it was nor longer by
// more than the drift allows.
func (w *world) wakes(t *testing.T, node int, slept time.Duration) {
	t.Helper()
	s := w.ask(node, ms)
	if s.Jumped != 0 || s.Slept < slept || !near(s.Slept, slept, slept/40+100*ms) {
		t.Errorf("node %d: %+v, want a sleep of %v", node, s, slept)
	}
}

// sound fails the test unless all nodes are trusted and known, and stay so, now and after the caller's old instants
// have passed.
func (w *world) sound(t *testing.T) {
	t.Helper()
	for range 2 {
		w.askAll(t)
		w.pass(200 * ms)
		w.askAll(t)
		for i := range w.nodes {
			w.jumped(t, i, 0)
			w.truth(t, i, 6*ms)
		}
	}
}

func TestSleep_IsFoundWhenAQuorumHasMovedAlike(t *testing.T) {
	for _, test := range []struct{ nodes, need int }{{1, 1}, {2, 2}, {3, 2}, {5, 3}, {7, 4}} {
		for _, slept := range []time.Duration{100 * ms, 10 * time.Second, 10 * time.Hour} {
			w := newWorld(test.nodes)
			for i := range w.rates {
				w.rates[i] = drift * float64(i%3-1)
			}
			w.askAll(t)
			w.pass(time.Second)
			w.sleep(slept)
			for i := range test.need - 1 {
				if s := w.ask(i, ms); s.Slept != 0 || !near(s.Jumped, slept, slept/50+20*ms) {
					t.Errorf("node %d of %d: %+v", i, test.nodes, s)
				}
				if test.nodes > 2 && w.distrust(i) == nil {
					t.Errorf("node %d of %d is trusted before it is known that all moved", i, test.nodes)
				}
			}
			w.wakes(t, test.need-1, slept)
			for i := range test.need {
				w.truth(t, i, 20*ms) // at once
			}
			w.sound(t)
		}
	}
}

func TestSleep_IsDistinguishedFromJumps(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]func(t *testing.T, w *world){
		"of different amounts": func(t *testing.T, w *world) {
			w.nodes[0] += 10 * s
			w.nodes[1] += 11 * s
			w.jumps(t, 0, 10*s)
			w.jumps(t, 1, 11*s)
			w.askAll(t, 2)
		},
		"alike, but backward": func(t *testing.T, w *world) {
			for i := range w.nodes {
				w.nodes[i] -= 10 * s
			}
			for i := range w.nodes {
				w.jumps(t, i, -10*s)
			}
			w.pass(quarantine)
			for i := range w.nodes {
				w.jumped(t, i, 0)
			}
		},
		"alike, but one was seen unmoved in between": func(t *testing.T, w *world) {
			w.nodes[0] += 10 * s
			w.jumps(t, 0, 10*s)
			w.askAll(t)
			w.nodes[1] += 10 * s
			w.jumps(t, 1, 10*s)
			w.askAll(t)
			w.jumped(t, 0, 10*s)
		},
		"alike, but one was seen unmoved in between, and a late reply of it after that": func(
			t *testing.T, w *world,
		) {
			late := w.send(1)
			w.read(late)
			w.receive(late)
			w.nodes[0] += 10 * s
			w.jumps(t, 0, 10*s)
			w.askAll(t)
			w.note(late)
			w.nodes[1] += 10 * s
			w.jumps(t, 1, 10*s)
		},
		"alike, but long after": func(t *testing.T, w *world) {
			w.nodes[0] += 10 * s
			w.jumps(t, 0, 10*s)
			w.pass(time.Hour)
			w.askAll(t)
			w.sleep(10 * s)
			w.jumps(t, 1, 10*s)
			w.wakes(t, 2, 10*s)
			w.sound(t)
		},
		"alike in sum, but one had moved a part of it long before": func(t *testing.T, w *world) {
			w.nodes[0] += 3 * s
			w.jumps(t, 0, 3*s)
			w.askAll(t)
			w.nodes[0] += 7 * s
			w.nodes[1] += 10 * s
			w.jumps(t, 0, 7*s)
			w.jumps(t, 1, 10*s)
		},
		"twice by one node, first a little": func(t *testing.T, w *world) {
			w.nodes[0] += 20 * ms
			w.jumps(t, 0, 20*ms)
			w.nodes[0] += 10 * s
			w.jumps(t, 0, 10*s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3)
			w.askAll(t)
			w.pass(s)
			w.askAll(t)
			test(t, w)
		})
	}
}

func TestSleep_TakesNoOtherJumpBack(t *testing.T) {
	const s = time.Second
	w := newWorld(3)
	w.askAll(t)
	w.nodes[0] += time.Hour
	w.jumps(t, 0, time.Hour)
	w.askAll(t)
	w.sleep(2 * s)
	w.jumps(t, 1, 2*s)
	w.wakes(t, 0, 2*s)
	w.jumped(t, 0, time.Hour) // from before the sleep
	w.jumped(t, 1, 0)
	w.pass(quarantine - s)
	w.jumped(t, 0, time.Hour)
	w.pass(s) // awake
	w.jumped(t, 0, 0)
	w.sound(t)

	w.sleep(2 * s)
	w.nodes[2] += time.Hour
	w.jumps(t, 2, time.Hour+2*s)
	w.jumps(t, 0, 2*s)
	w.wakes(t, 1, 2*s)
	w.jumped(t, 2, time.Hour+2*s)
	w.pass(quarantine - 100*ms) // the sleep was over before it was seen
	w.jumped(t, 2, time.Hour+2*s)
	w.pass(100 * ms)
	w.sound(t)
}

func TestSleep_AfterSleepIsFoundOnItsOwn(t *testing.T) {
	w := newWorld(5)
	w.askAll(t)
	for _, slept := range []time.Duration{time.Minute, time.Hour, 5 * time.Second} {
		w.sleep(slept)
		w.jumps(t, 0, slept)
		w.jumps(t, 1, slept)
		w.wakes(t, 2, slept)
		w.pass(150 * ms)
		w.askAll(t, 0, 1, 2) // nodes 3 and 4 are not seen between
	}
	w.sound(t)

	for i := range 3 { // one after the other, so it is no sleep, nor part of the last
		w.nodes[i] += time.Minute
		w.jumps(t, i, time.Minute)
		w.askAll(t)
	}
}

func TestSleep_IsAsLongAsTheNodesSeenLastTell(t *testing.T) {
	w := newWorld(3)
	w.askAll(t)
	w.pass(1000 * time.Second)
	w.askAll(t, 1, 2)
	w.sleep(100 * time.Second)
	w.jumps(t, 0, 100*time.Second) // or up to 10 s more
	w.wakes(t, 1, 100*time.Second)
}

func TestSleep_KeepsWhatItKnowsOfANodeNotSeenSince(t *testing.T) {
	w := newWorld(3)
	w.askAll(t)
	w.askAll(t, 0, 1)
	w.sleep(10 * time.Second)
	w.jumps(t, 0, 10*time.Second)
	w.wakes(t, 1, 10*time.Second)
	w.pass(200 * ms)
	w.truth(t, 2, 500*ms)
	w.nodes[2] -= 10 * time.Second // it slept along
	w.jumps(t, 2, -10*time.Second)
}

func TestSleep_MayBeAddedALittleLater(t *testing.T) {
	for slept, late := range map[time.Duration]time.Duration{
		50 * ms:          95 * ms,
		10 * time.Second: 9 * time.Second,
	} {
		w := newWorld(3)
		w.askAll(t)
		w.sleep(slept)
		w.jumps(t, 0, slept)
		w.wakes(t, 1, slept)
		added := w.slept
		w.slept = 0
		w.pass(late)
		w.askAll(t)
		w.slept = added
		w.sound(t)
	}
}

// A node alone is believed whatever it says. Its clock can still not turn the process's clock back.
func TestSleep_OfCenturiesIsNotBelieved(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	w := newWorld(1)
	for range 10 {
		for _, w.nodes[0] = range []time.Duration{0, century} {
			w.pass(ms)
			w.ask(0, ms)
			if w.slept < 0 || w.slept > 2*century {
				t.Fatalf("slept %v", w.slept)
			}
		}
	}
	w.sleep(time.Hour)
	w.wakes(t, 0, time.Hour)
	w.sound(t)
}
