package nodeclock_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
)

func TestSleep_IsFoundWhateverTheTimingOfOneReply(t *testing.T) {
	// One more request is sent at 0, before the sleep, or at 1, after it. Node 0 shows the move between 1 and 2, node 1
	// between 2 and 3, and old instants have passed at 4.
	const slept, known, over = 10 * time.Second, 3, 4
	type timing struct{ node, send, read, receive, note int }
	var timings []timing
	for node := range 3 {
		for send := range 2 {
			for read := send; read <= over; read++ {
				for receive := read; receive <= over; receive++ {
					for note := receive; note <= over; note++ {
						timings = append(timings, timing{node, send, read, receive, note})
					}
				}
			}
		}
	}
	for _, at := range timings {
		w := newWorld(3)
		w.askAll(t)
		w.pass(time.Second)
		w.askAll(t)
		var r *request
		var total time.Duration
		see := func(step int, s nodeclock.Sighting) {
			total += s.Slept
			if s.Jumped != 0 && (step >= known || !near(s.Jumped, slept, time.Second)) {
				t.Errorf("%+v: at %d: %+v", at, step, s)
			}
		}
		for step := range over + 1 {
			switch step {
			case 1:
				w.sleep(slept)
			case 2, 3:
				see(step-1, w.ask(step-2, ms))
			case over:
				w.pass(200 * ms)
			}
			w.pass(100 * time.Microsecond)
			if at.send == step {
				r = w.send(at.node)
			}
			if at.read == step {
				w.read(r)
			}
			if at.receive == step {
				w.receive(r)
			}
			if at.note == step {
				see(step, w.note(r))
			}
		}
		if total < slept || !near(total, slept, slept/40) {
			t.Errorf("%+v: slept %v in all", at, total)
		}
		w.sound(t)
		if t.Failed() {
			t.Fatalf("%+v", at)
		}
	}
}

func TestSleep_IsFoundWhereANodeShowsItInTwoParts(t *testing.T) {
	for name, first := range map[string]func(w *world, slept time.Duration) *request{
		"read amid the sleep": func(w *world, slept time.Duration) *request {
			r := w.send(0)
			w.sleep(slept)
			w.read(r)
			return r
		},
		"two sleeps in a row": func(w *world, slept time.Duration) *request {
			w.sleep(slept)
			r := w.send(0)
			w.read(r)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3)
			w.askAll(t)
			r := first(w, 3*time.Second)
			w.receive(r)
			w.sleep(7 * time.Second)
			if s := w.note(r); !near(s.Jumped, 3*time.Second, 20*ms) {
				t.Errorf("the first part: %+v", s)
			}
			w.jumps(t, 0, 7*time.Second)
			w.wakes(t, 1, 10*time.Second)
			w.sound(t)
		})
	}
}

func TestSleep_LeavesANodeDistrustedThatHasShownAPartOfIt(t *testing.T) {
	w := newWorld(3)
	w.askAll(t)
	r := w.send(0)
	w.sleep(3 * time.Second)
	w.read(r)
	w.sleep(7 * time.Second)
	w.receive(r)
	w.note(r)
	w.jumps(t, 1, 10*time.Second)
	w.wakes(t, 2, 10*time.Second)
	w.askAll(t)
	w.jumped(t, 0, 3*time.Second)
	w.pass(quarantine - 10*ms)
	w.jumped(t, 0, 3*time.Second)
	w.pass(10 * ms)
	w.sound(t)
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
