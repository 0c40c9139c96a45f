package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

type reading struct{ before, counting, after time.Duration }

// script returns one reading after the other, and then repeats the last one.
func script(readings ...reading) (read pair, reads *int) {
	reads = new(int)
	return func() (before, counting, after time.Duration) {
		r := readings[min(*reads, len(readings)-1)]
		*reads++
		return r.before, r.counting, r.after
	}, reads
}

// gaining is a wall clock that gains all the time, so that the counting clock is read each time.
func gaining() func() time.Duration {
	ahead := time.Duration(0)
	return func() time.Duration {
		ahead += 2 * apart
		return ahead
	}
}

func TestSleep_IsReadOnceTheWallClockHasGainedOrLost(t *testing.T) {
	var slept, ahead time.Duration
	reads := 0
	read := func() (before, counting, after time.Duration) {
		reads++
		return 0, slept, 0
	}
	sleep := newSleep(read, func() time.Duration { return ahead })
	for _, step := range []struct {
		slept, ahead, sum time.Duration
		reads             int
	}{
		{0, 0, 0, 1},
		{0, apart, 0, 1}, // as inexact as a read
		{time.Minute, time.Minute, time.Minute, 2}, // the machine has slept
		{time.Minute, time.Minute, time.Minute, 2},
		{time.Minute, time.Hour, time.Minute, 3}, // somebody has set the wall clock
		{time.Minute, -time.Hour, time.Minute, 4},
		{2 * time.Minute, time.Second - time.Hour, 2 * time.Minute, 5}, // slept, and set back
		{3 * time.Minute, time.Second - time.Hour, 2 * time.Minute, 5}, // set back by as much as was slept
	} {
		slept, ahead = step.slept, step.ahead
		if got := sleep.sum(); got != step.sum || reads != step.reads {
			t.Errorf("%+v: slept %v, %d reads", step, got, reads)
		}
	}
	if got := sleep.exact(); got != 3*time.Minute { // as each poll does
		t.Errorf("slept %v by the counting clock", got)
	}
}

func TestSleep_IsGrowthOfTheDifference(t *testing.T) {
	const us, s = time.Microsecond, time.Second
	for name, test := range map[string]struct {
		readings []reading
		totals   []time.Duration
	}{
		"awake, read unsharply": {
			[]reading{{0, 7*s + us, 9 * us}, {s, 8*s + 9*us, s + 9*us}, {s, 8*s + us, s + 9*us}},
			[]time.Duration{0, 0},
		},
		"slept twice": {
			[]reading{{0, 0, 0}, {s, 6 * s, s}, {s, 6 * s, s}, {2 * s, 10 * s, 2 * s}},
			[]time.Duration{5 * s, 5 * s, 8 * s},
		},
		"slept, and an inexact reading is corrected": {
			[]reading{{0, 0, 0}, {s, 6*s + 20*us, s + 50*us}, {s, 6 * s, s}},
			[]time.Duration{5*s - 30*us, 5 * s},
		},
		"held up before the counting clock was read": {
			[]reading{{0, 0, 0}, {s, 4 * s, 4 * s}, {4 * s, 4 * s, 4 * s}},
			[]time.Duration{0, 0},
		},
		"held up after the counting clock was read": {
			[]reading{{0, 0, 0}, {s, s, 4 * s}, {4 * s, 4 * s, 4 * s}},
			[]time.Duration{0, 0},
		},
		"held up, and slept meanwhile": {
			[]reading{{0, 0, 0}, {s, s, 4 * s}, {4 * s, 6 * s, 4 * s}},
			[]time.Duration{2 * s},
		},
		"held up in the first reading": {
			[]reading{{0, 3 * s, 3 * s}, {4 * s, 4 * s, 4 * s}, {4 * s, 5 * s, 4 * s}},
			[]time.Duration{s},
		},
		"stepped back, then slept": {
			[]reading{{0, 9 * s, 0}, {s, 5 * s, s}, {2 * s, 8 * s, 2 * s}},
			[]time.Duration{0, 2 * s},
		},
		"slept, then stepped back": {
			[]reading{{0, 0, 0}, {s, 4 * s, s}, {2 * s, 0, 2 * s}, {3 * s, s, 3 * s}},
			[]time.Duration{3 * s, 3 * s, 3 * s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			read, _ := script(test.readings...)
			sleep := newSleep(read, gaining())
			for i, want := range test.totals {
				if got := sleep.sum(); got != want {
					t.Errorf("sum %d is %v, want %v", i+1, got, want)
				}
			}
		})
	}
}

func TestSleep_ReadsAgainWhileHeldUpButNotForever(t *testing.T) {
	read, reads := script(reading{0, 0, 0}, reading{0, time.Second, time.Second})
	sleep := newSleep(read, gaining())
	if got := sleep.sum(); got != 0 || *reads != 1+tries {
		t.Errorf("slept %v after %d reads, want 0 after %d", got, *reads, 1+tries)
	}
}

// machine has random delays, sleeps and steps between any two reads.
type machine struct {
	t                      *rapid.T
	steps                  bool
	monotonic, ahead, rose time.Duration

	readAt, width time.Duration // ahead when last read, and how inexact that was
}

func (m *machine) live() {
	m.monotonic += time.Duration(rapid.Int64Range(0, int64(apart)).Draw(m.t, "delay"))
	switch rapid.IntRange(0, 9).Draw(m.t, "event") {
	case 0:
		slept := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(m.t, "sleep"))
		m.ahead, m.rose = m.ahead+slept, m.rose+slept
	case 1:
		if m.steps {
			m.ahead -= time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(m.t, "back"))
		}
	}
}

func (m *machine) read() (before, counting, after time.Duration) {
	m.live()
	before = m.monotonic
	m.live()
	counting, m.readAt = m.monotonic+m.ahead, m.ahead
	m.live()
	after = m.monotonic
	m.width = after - before
	return before, counting, after
}

func TestSleep_IsNeverMoreThanTheGrowthAndHardlyLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{t: t, steps: rapid.Bool().Draw(t, "steps")}
		sleep := newSleep(m.read, gaining())
		begin, width, last := m.readAt, m.width, time.Duration(0)
		for range rapid.IntRange(1, 20).Draw(t, "readings") {
			got := sleep.sum()
			if least := m.readAt - begin - width - m.width; got < least || got > m.rose {
				t.Fatalf("slept %v, want %v to %v", got, least, m.rose)
			}
			if got < last {
				t.Fatalf("slept %v after %v", got, last)
			}
			last = got
		}
	})
}

func TestWallPair_ShowsNoSleepOfAMachineThatIsAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(newSleep(wallPair(), gaining()))
		for range 1000 {
			time.Sleep(time.Minute)
			if slept := c.Slept(); slept != 0 {
				t.Fatalf("slept %v", slept)
			}
		}
	})
}

func TestNow_CountsSleepUntilAfterItReadTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		c := newClock(newSleep(func() (before, counting, after time.Duration) {
			time.Sleep(ahead) // the time to read the pair must not be in the time read before
			return 0, ahead, 0
		}, gaining()))
		ahead = time.Second
		began := time.Now()
		if got := c.Now().Sub(began); got != time.Second {
			t.Errorf("Now is %v after it was called, want the second that was slept", got)
		}
		if passed := time.Since(began); passed != time.Second {
			t.Errorf("reading took %v: the test is inconclusive", passed)
		}
	})
}
