package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// seconds is an instant so many seconds after a whole day.
func seconds(n int) time.Time {
	return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

func TestCatchUp_NextOfWhatHasCome(t *testing.T) {
	for name, test := range map[string]struct {
		catchUp    CatchUp
		spec       string
		floor, now int
		none       bool
		tick       int
		run, late  bool
		jumped     int
	}{
		"nothing has come":               {CatchUpLast(time.Hour), "@every 10s", 0, 9, true, 0, false, false, 0},
		"one tick, on time":              {CatchUpLast(time.Hour), "@every 10s", 0, 10, false, 10, true, false, 0},
		"the newest of several":          {CatchUpLast(time.Hour), "@every 10s", 0, 95, false, 90, true, false, 8},
		"the newest, which is late":      {CatchUpLast(time.Hour), "@every 10s", 0, 98, false, 90, true, true, 8},
		"all of them older than that":    {CatchUpLast(time.Minute), "@every 1h", 0, 3661, false, 3600, false, true, 0},
		"none but fresh ones":            {CatchUpNone(), "@every 10s", 0, 98, false, 90, false, true, 8},
		"none, and one is fresh":         {CatchUpNone(), "@every 10s", 0, 91, false, 90, true, false, 8},
		"all, the oldest first":          {CatchUpAll(time.Hour), "@every 10s", 0, 98, false, 10, true, true, 0},
		"all within the window":          {CatchUpAll(30 * time.Second), "@every 10s", 0, 98, false, 70, true, true, 6},
		"all, but the window has none":   {CatchUpAll(time.Minute), "@every 1h", 0, 3700, false, 3600, false, true, 0},
		"all, and the newest thousand":   {CatchUpAll(24 * time.Hour), "@every 1s", 0, 3000, false, 2001, true, true, 2000},
		"a year of seconds, the newest":  {CatchUpLast(time.Hour), "@every 1s", 0, 365 * 86400, false, 365 * 86400, true, false, 10_000},
		"a year of seconds, all of them": {CatchUpAll(366 * 24 * time.Hour), "@every 1s", 0, 365 * 86400, false, 365*86400 - 999, true, true, 10_001},
	} {
		s, err := Parse(test.spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := test.catchUp.next(s, seconds(test.floor), time.Time{}, seconds(test.now))
		if ok == test.none {
			t.Errorf("%s: %v, %+v", name, ok, d)
			continue
		}
		if ok && (!d.tick.Equal(seconds(test.tick)) || d.run != test.run || d.caughtUp != test.late || d.jumped != test.jumped) {
			t.Errorf("%s: tick %v, %+v", name, d.tick.Sub(seconds(0)), d)
		}
	}
}

// Whatever the policy: each tick that has come is run, or counted as left out, once.
func TestCatchUp_AccountsForEveryTick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]string{"@every 7s", "*/10 * * * * *", "0 */5 * * *", "3,4,50 * * * * *"}).Draw(t, "spec")
		window := time.Duration(rapid.IntRange(1, 5000).Draw(t, "window")) * time.Second
		c := rapid.SampledFrom([]CatchUp{CatchUpLast(window), CatchUpAll(window), CatchUpNone()}).Draw(t, "catch up")
		s, err := Parse(spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		now := seconds(rapid.IntRange(0, 8000).Draw(t, "now"))
		past := seconds(rapid.IntRange(0, 9000).Draw(t, "past"))
		total, floor := 0, seconds(0)
		for tick := s.Next(floor); !tick.After(now); tick = s.Next(tick) {
			total++
		}
		for {
			d, ok := c.next(s, floor, past, now)
			if !ok {
				break
			}
			if !d.tick.After(floor) || d.tick.After(now) {
				t.Fatalf("tick %v after %v, at %v", d.tick, floor, now)
			}
			total -= 1 + d.jumped
			floor = d.tick
		}
		if total != 0 {
			t.Errorf("%d ticks are not accounted for", total)
		}
	})
}

func TestJitter_IsTheSameEverywhereAndStaysBeforeTheNextTick(t *testing.T) {
	j, err := newJob(Job{
		Name: "job", Spec: "@every 1m", Jitter: time.Hour, Run: WrapCron(nil),
	}, "here", nil)
	if err == nil {
		t.Fatal("a job without work was accepted")
	}
	shortest, longest := time.Hour, time.Duration(0)
	for n := range 1000 {
		tick := seconds(60 * n)
		start := j.start(tick)
		if start.Before(tick) || !start.Before(tick.Add(time.Minute)) || !j.start(tick).Equal(start) {
			t.Fatalf("tick %v starts at %v", tick, start)
		}
		shortest, longest = min(shortest, start.Sub(tick)), max(longest, start.Sub(tick))
	}
	if shortest > time.Second || longest < 59*time.Second {
		t.Errorf("starts are %v to %v after the ticks", shortest, longest)
	}
}
