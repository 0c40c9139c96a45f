package nodeclock_test

import (
	"testing"
	"time"
)

func TestNote_SeesAJump(t *testing.T) {
	type look struct {
		after time.Duration // since the last poll
		jump  time.Duration // of the node's clock meanwhile
		rtt   time.Duration
		want  time.Duration // to within 20 ms
	}
	for name, looks := range map[string][]look{
		"none":                               {{0, 0, ms, 0}, {ms, 0, ms, 0}, {time.Hour, 0, ms, 0}},
		"forward":                            {{0, 0, ms, 0}, {ms, 3 * time.Second, ms, 3 * time.Second}},
		"backward":                           {{0, 0, ms, 0}, {ms, -3 * time.Second, ms, -3 * time.Second}},
		"once only":                          {{0, 0, ms, 0}, {ms, -time.Minute, ms, -time.Minute}, {0, 0, ms, 0}},
		"there and back":                     {{0, 0, ms, 0}, {0, time.Hour, ms, time.Hour}, {ms, -time.Hour, ms, -time.Hour}},
		"below the granularity":              {{0, 0, ms, 0}, {0, 2 * ms, ms, 0}},
		"just above the granularity":         {{0, 0, ms, 0}, {0, 4 * ms, ms, 4 * ms}},
		"creeping":                           {{0, 0, ms, 0}, {0, 2 * ms, ms, 0}, {0, 2 * ms, ms, 2 * ms}},
		"within the drift":                   {{0, 0, ms, 0}, {10 * time.Second, 100 * ms, ms, 0}},
		"above the drift":                    {{0, 0, ms, 0}, {10 * time.Second, 110 * ms, ms, 110 * ms}},
		"within a slow reply":                {{0, 0, ms, 0}, {0, 100 * ms, 300 * ms, 0}},
		"beyond a slow reply":                {{0, 0, ms, 0}, {0, 200 * ms, 300 * ms, 200 * ms}},
		"a slow reply hides it not for long": {{0, 0, ms, 0}, {0, 100 * ms, 300 * ms, 0}, {0, 0, ms, 100 * ms}},
		"a quick reply sharpens a slow one":  {{0, 0, 300 * ms, 0}, {0, 0, ms, 0}, {0, 10 * ms, ms, 10 * ms}},
		"a slow reply does not blunt a quick one": {
			{0, 0, ms, 0}, {0, 0, 300 * ms, 0}, {0, 20 * ms, ms, 20 * ms},
		},
		"while nobody looked": {{0, 0, ms, 0}, {time.Hour, time.Minute, ms, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3)
			for i, l := range looks {
				w.pass(l.after)
				w.nodes[0] += l.jump
				got := w.ask(0, l.rtt)
				if (got != 0) != (l.want != 0) || !near(got, l.want, 20*ms) {
					t.Errorf("poll %d: a jump by %v, want %v", i, got, l.want)
				}
			}
		})
	}
}

func TestNote_BearsWithWhatNoClockShows(t *testing.T) {
	w := newWorld(3)
	w.askAll(t)
	for _, micros := range []int64{-1 << 63, 1<<63 - 1} {
		if w.Note(0, w.instant(), w.instant(), micros, 0) == 0 {
			t.Errorf("%d is no jump", micros)
		}
		if _, _, ok := w.Bounds(0, w.instant()); !ok || w.distrust(0) == nil {
			t.Errorf("%d is no sighting, or trusted", micros)
		}
	}
	w.askAll(t, 1, 2)
}

func TestDistrust_EndsWithTheQuarantine(t *testing.T) {
	w := newWorld(3)
	w.jumped(t, 0, 0)
	w.askAll(t)
	w.jumped(t, 0, 0)

	w.nodes[0] += time.Hour
	w.ask(0, ms)
	w.jumped(t, 0, time.Hour)
	w.jumped(t, 1, 0)
	w.pass(quarantine - ms)
	w.jumped(t, 0, time.Hour)
	w.askAll(t)

	w.nodes[0] -= time.Hour
	w.ask(0, 0)
	w.pass(quarantine - ms)
	w.jumped(t, 0, -time.Hour) // a second jump restarts it
	w.pass(ms)
	w.jumped(t, 0, 0)
	w.askAll(t)
}

func TestDistrust_SaysByHowMuchAndHowLong(t *testing.T) {
	w := newWorld(3)
	says := func(jump, after time.Duration, want string) {
		t.Helper()
		w.nodes[0] += jump
		w.ask(0, 0)
		w.pass(after)
		if err := w.distrust(0); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	w.askAll(t)
	says(3*time.Second, 1800*ms, "its clock jumped by 3s: it does not vote for another 8.2s")
	says(-time.Hour, quarantine-400, "its clock jumped by -1h0m0s: it does not vote for another 1ms")
}

func TestBounds_ContainTheClock(t *testing.T) {
	w := newWorld(3)
	if _, _, ok := w.Bounds(0, w.instant()); ok {
		t.Error("of a node never seen")
	}
	w.ask(0, 10*ms)
	w.truth(t, 0, 13*ms)
	w.ask(0, ms)
	w.truth(t, 0, 4*ms)
	w.rates[0] = drift
	w.pass(time.Second)
	w.truth(t, 0, 24*ms)
	w.rates[0] = -drift
	w.pass(time.Second)
	w.pass(time.Second)
	w.truth(t, 0, 64*ms)
	w.nodes[0] += time.Hour
	w.ask(0, ms)
	w.truth(t, 0, 4*ms)
}

func TestMedian_IsOfAQuorumAndTheOffsetIsToIt(t *testing.T) {
	w := newWorld(3) // 100 s apart
	check := func(median, offset time.Duration, has bool) {
		t.Helper()
		micros, ok := w.Median(w.instant())
		d := w.nodes[0] - time.Duration(micros)*time.Microsecond
		if ok != has || ok && !near(-d, median, 2*ms) {
			t.Errorf("median: %v from node 0, %v", -d, ok)
		}
		if d := w.Offset(0); !near(d, offset, 2*ms) {
			t.Errorf("offset of node 0: %v", d)
		}
	}
	check(0, 0, false)
	w.ask(0, ms)
	check(0, 0, false)
	w.ask(2, ms)
	check(100*time.Second, -100*time.Second, true)
	w.ask(1, ms)
	w.pass(time.Minute)
	check(100*time.Second, -100*time.Second, true)
	w.nodes[0] += time.Hour
	w.ask(0, ms)
	check(200*time.Second-time.Hour, time.Hour-200*time.Second, true)
}
