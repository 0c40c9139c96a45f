package cronspec_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/cronspec"
)

func TestZone_TicksThroughChangesOfTheClock(t *testing.T) {
	tests := []struct {
		name, zone, spec, from string
		want                   []string // readings of the zone's clock
	}{
		{
			"a time in the gap fires at the jump, once",
			"America/New_York", "30 2 * * *", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"},
		}, {
			"many times in the gap fire at the jump, once",
			"America/New_York", "*/15 2 * * *", "2026-03-08T00:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"},
		}, {
			"a time in the gap and one at its end are one tick",
			"America/New_York", "0 2,3 * * *", "2026-03-08T00:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"},
		}, {
			"a time in the overlap fires in the first pass only",
			"America/New_York", "30 1 * * *", "2026-11-01T00:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		}, {
			"a list of times in the overlap too",
			"America/New_York", "0,30 1 * * *", "2026-11-01T00:00:00-04:00",
			[]string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:30:00-04:00", "2026-11-02T01:00:00-05:00"},
		}, {
			"asked in the second pass it is over for today",
			"America/New_York", "30 1 * * *", "2026-11-01T01:10:00-05:00",
			[]string{"2026-11-02T01:30:00-05:00"},
		}, {
			"a list of all hours is an hourly job",
			"America/New_York", "30 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23 * * *",
			"2026-11-01T01:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"},
		}, {
			"a wildcard, a step or a range in the time of day fires in both passes",
			"America/New_York", "30 1-9 * * *", "2026-11-01T01:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"},
		}, {
			"a wildcard in the date does not",
			"America/New_York", "30 1 1-7 */2 ?", "2026-11-01T00:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		}, {
			"a descriptor of days is a fixed time",
			"America/Havana", "@daily", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
		}, {
			"@hourly is not",
			"America/Havana", "@hourly", "2026-10-31T23:30:00-04:00",
			[]string{"2026-11-01T00:00:00-04:00", "2026-11-01T00:00:00-05:00", "2026-11-01T01:00:00-05:00"},
		}, {
			"a month that begins without a midnight",
			"America/Asuncion", "0 0 * 3,4,10,11 *", "2023-09-29T00:00:00-04:00",
			[]string{"2023-10-01T01:00:00-03:00", "2023-10-02T00:00:00-03:00"},
		}, {
			"a Saturday that begins without a midnight",
			"Asia/Gaza", "59 23 * * 6", "2020-03-21T23:59:00+02:00",
			[]string{"2020-03-28T23:59:00+03:00", "2020-04-04T23:59:00+03:00"},
		}, {
			"a day that does not exist fires when it is jumped over",
			"Pacific/Apia", "0 12 30 12 *", "2011-12-01T00:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"},
		}, {
			"a single time in the gap is at the jump",
			"America/New_York", "@at 2026-03-08T02:30:00", "2026-01-01T00:00:00Z", []string{"2026-03-08T03:00:00-04:00"},
		}, {
			"a single time in the overlap is in the first pass",
			"America/New_York", "@at 2026-11-01T01:30:00", "2026-01-01T00:00:00Z", []string{"2026-11-01T01:30:00-04:00"},
		}, {
			"a single time on a day that does not exist",
			"Pacific/Apia", "@at 2011-12-30T12:00:00", "2011-01-01T00:00:00Z", []string{"2011-12-31T00:00:00+14:00"},
		}, {
			"the last Sunday of October, when the clock is set back",
			"Europe/Rome", "30 2 * 10 7L", "2026-01-01T00:00:00Z", []string{"2026-10-25T02:30:00+02:00", "2027-10-31T02:30:00+02:00"},
		}, {
			"past the zone's table, on the last day of a leap year",
			"America/New_York", "0 0 * * *", "2040-12-30T12:00:00-05:00",
			[]string{"2040-12-31T00:00:00-05:00", "2041-01-01T00:00:00-05:00", "2041-01-02T00:00:00-05:00"},
		}, {
			"29 February over a century without one",
			"America/New_York", "0 0 29 2 *", "2096-03-01T00:00:00-05:00",
			[]string{"2104-02-29T00:00:00-05:00", "2108-02-29T00:00:00-05:00"},
		}, {
			"before the zone had any rule",
			"America/New_York", "0 12 * * *", "0001-01-01T00:00:00Z",
			[]string{"0001-01-01T12:00:00-04:56"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loc := zone(t, tt.zone)
			schedule, err := cronspec.Parse(tt.spec, loc)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			tick := at(t, tt.from)
			for range tt.want {
				tick = schedule.Next(tick)
				got = append(got, tick.In(loc).Format(time.RFC3339))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q in %s after %s:\n got %v\nwant %v", tt.spec, tt.zone, tt.from, got, tt.want)
			}
		})
	}
}

func TestZone_HasNoTickOutsideTheCalendar(t *testing.T) {
	schedule, err := cronspec.Parse("* * * * *", zone(t, "America/New_York"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sec := range []int64{-1 << 62, 1 << 40, 1 << 62} {
		if tick := schedule.Next(time.Unix(sec, 0)); !tick.IsZero() {
			t.Errorf("after second %d: got %v, want none", sec, tick)
		}
	}
}

var (
	zones = []string{
		"UTC", "America/New_York", "America/Havana", "America/Asuncion", "Australia/Lord_Howe",
		"Asia/Gaza", "Asia/Kolkata", "Africa/Casablanca", "Antarctica/Troll", "Pacific/Apia",
	}
	specs = rapid.Custom(func(t *rapid.T) string {
		oneOf := func(name string, texts ...string) string { return rapid.SampledFrom(texts).Draw(t, name) }
		return oneOf("second", "", "0 ", "*/7 ", "30,59 ") +
			oneOf("minute", "*", "0", "30", "15,45", "*/25", "50-59") + " " +
			oneOf("hour", "*", "0", "1", "2", "23", "0,1,2,3", "*/5", "1-3") + " " +
			oneOf("day of month", "*", "?", "1", "29", "28-30", "1-31/10", "L", "L-2,15", "LW,1W,31W") + " " +
			oneOf("month", "*", "2", "3,10", "apr-nov") + " " +
			oneOf("day of week", "*", "0", "5-7", "mon,sat", "0L", "6#5,sun#2", "+2-5", "+0#1,0#5,5L")
	})
	instants = rapid.Custom(func(t *rapid.T) time.Time {
		sec := rapid.Int64Range(-5e9, 5e9).Draw(t, "second") // 1811 to 2128
		return time.Unix(sec, rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
	})
)

func TestZone_NextIsTheSameFromEveryInstantBeforeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		spec, from := specs.Draw(t, "spec"), instants.Draw(t, "from")
		schedule, err := cronspec.Parse(spec, loc)
		if err != nil {
			t.Fatal(err)
		}

		tick := schedule.Next(from)
		wantTickAfter(t, from, tick)
		between := from.Add(time.Duration(rapid.Int64Range(0, int64(tick.Sub(from))-1).Draw(t, "wait")))
		if again := schedule.Next(between.In(loc)); !again.Equal(tick) {
			t.Fatalf("Next(%v) = %v, but Next(%v) = %v", from, tick, between, again)
		}
	})
}

// The local time up to which a job's ticks are settled does not go back when a clock is set back.
func TestZone_WhatTheClockShowsStandsStillWhileItRepeats(t *testing.T) {
	loc := zone(t, "America/New_York")
	for text, shown := range map[string]string{
		"2026-11-01T01:59:00-04:00": "2026-11-01T01:59:00Z",
		"2026-11-01T01:00:00-05:00": "2026-11-01T02:00:00Z",
		"2026-11-01T01:59:00-05:00": "2026-11-01T02:00:00Z",
		"2026-11-01T02:01:00-05:00": "2026-11-01T02:01:00Z",
		"2026-03-08T03:00:00-04:00": "2026-03-08T03:00:00Z",
	} {
		schedule, err := cronspec.Parse("30 1 * * *", loc)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Reading(at(t, text)); !got.Equal(at(t, shown)) {
			t.Errorf("at %s: %v, want %s", text, got, shown)
		}
	}
}

func TestOnce_IsOneTick(t *testing.T) {
	schedule, err := cronspec.Parse("@at 2026-12-01T09:00:00", zone(t, "Europe/Rome"))
	if err != nil {
		t.Fatal(err)
	}
	tick := at(t, "2026-12-01T08:00:00Z")
	year := 365 * 24 * time.Hour
	if first, second := schedule.Next(tick.Add(-1)), schedule.Next(tick); !first.Equal(tick) || !second.IsZero() {
		t.Errorf("ticks at %v and %v", first, second)
	}
	if shown := schedule.Reading(tick); !shown.Equal(at(t, "2026-12-01T09:00:00Z")) {
		t.Errorf("at the tick, the clock shows %v", shown)
	}
	wantCounts(t, schedule, tick.Add(-year), tick.Add(year), []time.Time{tick})
	wantCounts(t, schedule, tick, tick.Add(year), nil)
}

func TestZone_TicksAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		spec := rapid.OneOf(specs, rapid.SampledFrom([]string{"@every 1s", "@every 7s", "@every 36h"})).Draw(t, "spec")
		schedule, err := cronspec.Parse(spec, loc)
		if err != nil {
			t.Fatal(err)
		}
		from := instants.Draw(t, "from")
		ticks := []time.Time{schedule.Next(from)}
		last := ticks[0]
		for len(ticks) <= 500 && last.Before(from.AddDate(100, 0, 0)) {
			last = schedule.Next(last)
			ticks = append(ticks, last)
		}
		wantCounts(t, schedule, from, last, ticks)
	})
}

func wantTickAfter(t rapid.TB, from, tick time.Time) {
	t.Helper()
	if !tick.After(from) || tick.Nanosecond() != 0 || tick.Location() != time.UTC {
		t.Fatalf("after %v: got %v, want a later whole second in UTC", from, tick)
	}
}

func FuzzParse(f *testing.F) {
	for _, spec := range []string{
		"* * * * *", "*/15 9-17 * * mon-fri", "0 0 29 2 *", "30 1,2 * * 5-7/2", "@daily", "@every 1h30m",
		"0 2 L,L-3,15W,LW * 5#2,5L", "0 2 */2 * 1", "0 2 13 * +fri", "@at 2026-10-25T02:30:00", "30 2 L-30 2 *", "0 0 31W 4 *",
		"CRON_TZ=Pacific/Apia 0 12 30 12 *", "TZ=UTC", "CRON_TZ=", "TZ=0", "@every 0s", "*/61 * * * *",
		"+5 * * * *", "5,,6 * * * *", "0 0 30 2 *", "0-7/0 * * * 0-7/0", "@", "1 2 3 4 5 6", "\xff",
	} {
		f.Add(spec, int64(1_772_953_200), uint8(1))
	}
	f.Fuzz(func(t *testing.T, spec string, sec int64, in uint8) {
		schedule, err := cronspec.Parse(spec, zone(t, zones[int(in)%len(zones)]))
		if err != nil {
			return
		}
		from := time.Unix(sec%200e9, sec%1e9) // up to the year 8307
		for range 3 {
			tick := schedule.Next(from)
			if _, isOnce := schedule.(cronspec.Once); isOnce && tick.IsZero() {
				return
			}
			if from.UTC().Year() >= 1 {
				wantTickAfter(t, from, tick)
			}
			from = tick
		}
	})
}
