package cronspec_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestParse_RefusesABadSpecAndSaysWhy(t *testing.T) {
	tests := []struct{ spec, reason string }{
		{"", "empty"},
		{strings.Repeat("*", 257), "257 bytes long, at most 256"},

		{"*", "(second in front), got 1"},
		{"* * * * * CRON_TZ=UTC", "day of week: "},

		{"60 * * * * *", "second: 60 must be from 0 to 59"},
		{"* * * foo *", `month: "foo" is neither a number from 1 to 12 nor one of jan feb`},
		{"* * * * 8", "day of week: 8 must be from 0 to 7"},
		{"* * * * 7/2", "day of week: beginning of range (7) beyond end of range (6)"},
		{"* * * * fri-7", "day of week: end of range (7) above maximum (6)"},
		{"30-10 * * * *", "minute: beginning of range (30) beyond end of range (10)"},
		{"99999999999999999999 * * * *", "minute: 99999999999999999999 must be from 0 to 59"},

		{"*/61 * * * *", `minute: step of "*/61" must be from 1 to 60`},
		{"0 0 * * 0-7/0", `day of week: step of "0-7/0" must be from 1 to 7`},

		{"*-5 * * * *", `minute: "*-5" is not`},
		{"+5 * * * *", `minute: "+5" is not`},
		{"5,,6 * * * *", `minute: "5,,6" has an empty item`},
		{"jan * * * *", `minute: "jan" is not a number from 0 to 59`},

		{"0 0 L,,5 * *", `day of month: ",5" has an empty item`},
		{"0 L * * *", `hour: "L" is not one of its values: L, L-3, LW and 15W are days of the month`},
		{"0 0 * * L", `day of week: "L" is not one of its values`},
		{"0 0 * * 15W", `day of week: "15W" is not one of its values`},
		{"0 0 5L * *", `day of month: "5L" is not one of its values`},
		{"0 0 L-3W * *", `day of month: "L-3W" is not one of its values`},
		{"0 0 1-5W * *", `day of month: "1-5W" is not one of its values`},
		{"0 0 L/2 * *", `day of month: "L" is not a number from 1 to 31`},
		{"0 0 L-31 * *", `day of month: "L-31": 31 must be from 1 to 30`},
		{"0 0 L-0 * *", `day of month: "L-0": 0 must be from 1 to 30`},
		{"0 0 32W * *", `day of month: "32W": 32 must be from 1 to 31`},
		{"0 0 0W * *", `day of month: "0W": 0 must be from 1 to 31`},
		{"0 0 * * 5#6", `day of week: "5#6": 6 must be from 1 to 5`},
		{"0 0 * * 5#0", `day of week: "5#0": 0 must be from 1 to 5`},
		{"0 0 * * 8#2", `day of week: "8#2": 8 must be from 0 to 7`},
		{"0 0 * * foo#2", `day of week: "foo#2": "foo" is neither`},
		{"0 0 * * ++1", `day of week: "+1" is not *, ?`},
		{"0 0 +1 * *", `day of month: "+1" is not *, ?`},

		{"0 0 */2 * 1", `the day of month */2 beside the day of week 1 in two ways: ` +
			`write "0 0 1-31/2 * +1" for days that match both, or "0 0 1-31/2 * 1" for days that match one of them`},
		{"TZ=UTC 5 0 0 1-7 * */7", `write "TZ=UTC 5 0 0 1-7 * +0-6/7" for days that match both, or "TZ=UTC 5 0 0 1-7 * 0-6/7" for`},
		{"0 0 */2 * 0-6", `write "0 0 1-31/2 * +0-6" for`},
		{"0 0 13,* * fri", `write "0 0 13,1-31 * +fri" for`},
		{"0 0 L,* * fri", `write "0 0 L,1-31 * +fri" for`},

		{"0 0 30 2 *", "never comes: none of its months has such a day"},
		{"0 0 31 2,4,6,9,11 *", "never comes"},
		{"0 0 30W 2 *", "never comes"},
		{"0 0 31W 4 *", "never comes"},
		{"0 0 L-29 2 *", "never comes"},
		{"0 0 8 * +1#1", "never comes"},
		{"0 0 1-6 * +5L", "never comes"},
		{"0 0 22 * +1#5", "never comes"},

		{"@reboot", "unrecognized descriptor: @reboot"},
		{"@daily now", "unrecognized descriptor: @daily now"},
		{"@at", "@at wants one time, as in @at 2026-12-01T09:00:00Z"},
		{"@at 2026-12-01 09:00", "@at wants one time"},
		{"@at 2026-12-01", "@at wants one time"},
		{"@at 2026-02-30T09:00:00Z", "day out of range"},
		{"@at 2026-02-31T09:00:00", "day out of range"},
		{"@at 2026-12-01T09:00:00.5Z", "@at 2026-12-01T09:00:00.5Z is not in whole seconds"},
		{"@at 1969-12-31T23:59:59Z", "is not in the years from 1970 to 9999"},
		{"TZ=America/New_York @at 9999-12-31T23:59:59", "is not in the years from 1970 to 9999"},
		{"@schedule second Tuesdays", "unrecognized descriptor: @schedule"},
		{"@every", "@every wants one duration"},
		{"@every soon", `@every: time: invalid duration "soon"`},
		{"@every 0s", "@every 0s is less than 1s"},
		{"@every 1.7s", "@every 1.7s is not in whole seconds"},

		{"TZ=UTC", "nothing follows the zone"},
		{"TZ=UTC@daily", "zone: unknown time zone UTC@daily"},
		{"TZ=", "zone: the name after the = is missing"},
		{"CRON_TZ=Local * * * * *", "zone: Local is not the same on every replica"},
		{"CRON_TZ=Mars/Base * * * * *", "zone: unknown time zone Mars/Base"},
		{"TZ=UTC TZ=UTC * * * * *", `second: "TZ=UTC" is not`},
	}
	for _, tt := range tests {
		schedule, err := cronspec.Parse(tt.spec, nil)
		if schedule != nil || err == nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("Parse(%q) = %v, %v; want an error that says %q", tt.spec, schedule, err, tt.reason)
		}
	}
}

func TestParse_GivesTheTicksOfASpec(t *testing.T) {
	const from = "2026-01-01T00:00:00Z" // a Thursday
	tests := []struct {
		spec string
		want []string
	}{
		{"*/20 * * * *", []string{"2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z"}},
		{"*/60 * * * *", []string{"2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"}},
		{"*/20 * * * * *", []string{"2026-01-01T00:00:20Z", "2026-01-01T00:00:40Z"}},
		{"5 30 9 * * *", []string{"2026-01-01T09:30:05Z", "2026-01-02T09:30:05Z"}},
		{"0 9-17/4 ? * *", []string{"2026-01-01T09:00:00Z", "2026-01-01T13:00:00Z"}},
		{"0 9 * JAN-mar/2 Mon,wed", []string{"2026-01-05T09:00:00Z", "2026-01-07T09:00:00Z"}},

		{"0 0 * * 7", []string{"2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"}},
		{"0 0 * * 6-7", []string{"2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"}},
		{"0 0 * * 3-7/2", []string{"2026-01-02T00:00:00Z", "2026-01-04T00:00:00Z"}},

		// If both day fields are restricted, either may match. If one of them is * or ?, the other decides.
		{"0 0 5 * fri", []string{"2026-01-02T00:00:00Z", "2026-01-05T00:00:00Z"}},
		{"0 0 1-31/4 * fri", []string{"2026-01-02T00:00:00Z", "2026-01-05T00:00:00Z"}},
		{"0 0 */2 * *", []string{"2026-01-03T00:00:00Z", "2026-01-05T00:00:00Z"}},
		{"0 0 13 * +fri", []string{"2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z"}},
		{"0 0 5 * *", []string{"2026-01-05T00:00:00Z", "2026-02-05T00:00:00Z"}},

		{"@yearly", []string{"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"}},
		{"@annually", []string{"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"}},
		{"@monthly", []string{"2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"}},
		{"@weekly", []string{"2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"}},
		{"@daily", []string{"2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"}},
		{"@hourly", []string{"2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"}},

		{"0 0 L * *", []string{"2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"}},
		{"0 0 l-2 2 ?", []string{"2026-02-26T00:00:00Z", "2027-02-26T00:00:00Z"}},
		{"0 0 L-28 2 *", []string{"2028-02-01T00:00:00Z", "2032-02-01T00:00:00Z"}},
		{"0 0 LW * *", []string{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"}},
		{"0 0 1W 2,8 *", []string{"2026-02-02T00:00:00Z", "2026-08-03T00:00:00Z"}}, // a Sunday and a Saturday
		{"0 0 15w 2,8 *", []string{"2026-02-16T00:00:00Z", "2026-08-14T00:00:00Z"}},
		{"0 0 31W 1,5 *", []string{"2026-01-30T00:00:00Z", "2026-05-29T00:00:00Z"}},
		{"0 0 * * 5#2", []string{"2026-01-09T00:00:00Z", "2026-02-13T00:00:00Z"}},
		{"0 0 * * Fri#5", []string{"2026-01-30T00:00:00Z", "2026-05-29T00:00:00Z"}},
		{"0 0 * * 7L", []string{"2026-01-25T00:00:00Z", "2026-02-22T00:00:00Z"}},
		{"0 0 1,L * monL", []string{"2026-01-26T00:00:00Z", "2026-01-31T00:00:00Z"}},
		{"0 0 29 2 +3", []string{"2040-02-29T00:00:00Z", "2068-02-29T00:00:00Z"}},

		{"@at 2026-12-01T09:00:00Z", []string{"2026-12-01T09:00:00Z", "0001-01-01T00:00:00Z"}},
		{"TZ=Asia/Tokyo @at 2026-12-01T09:00:00", []string{"2026-12-01T00:00:00Z", "0001-01-01T00:00:00Z"}},
		{"@at 2025-12-01T09:00:00Z", []string{"0001-01-01T00:00:00Z"}},

		{" \t@daily\n", []string{"2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"}},
		{"@every  1h ", []string{"2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"}},
		{"CRON_TZ=Asia/Tokyo 0 6 * * *", []string{"2026-01-01T21:00:00Z", "2026-01-02T21:00:00Z"}},
		{"TZ=Asia/Tokyo\t@daily", []string{"2026-01-01T15:00:00Z", "2026-01-02T15:00:00Z"}},
	}
	for _, tt := range tests {
		schedule, err := cronspec.Parse(tt.spec, nil)
		want.NoError(t, err)
		var got []string
		for tick := at(t, from); len(got) < len(tt.want); {
			tick = schedule.Next(tick)
			got = append(got, tick.Format(time.RFC3339))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q ticks at %v, want %v", tt.spec, got, tt.want)
		}
	}
}

func TestEvery_TicksAtMultiplesSinceTheEpochWhereverOneStarts(t *testing.T) {
	for _, d := range []time.Duration{time.Second, 7 * time.Second, 90 * time.Minute, 36 * time.Hour} {
		schedule, err := cronspec.Parse("@every "+d.String(), zone(t, "America/New_York"))
		want.NoError(t, err)
		for _, start := range []string{
			"1969-12-31T23:59:59.5Z", "1966-02-03T04:05:06Z", "1970-01-01T00:00:00Z",
			"2026-03-08T01:59:59.999999999-05:00", "2026-11-01T01:30:00-05:00",
		} {
			from := at(t, start)
			tick := schedule.Next(from)
			if tick.Unix()%int64(d/time.Second) != 0 || tick.Nanosecond() != 0 {
				t.Errorf("@every %s after %s: %v is not a multiple since the epoch", d, start, tick)
			}
			if !tick.After(from) || tick.Sub(from) > d {
				t.Errorf("@every %s after %s: %v is not the next one", d, start, tick)
			}
			if tick.Location() != time.UTC {
				t.Errorf("@every %s: tick in %v, want UTC", d, tick.Location())
			}
		}
	}
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, s)
	want.NoError(t, err)
	return instant
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	want.NoError(t, err)
	return loc
}

func format(ticks []time.Time) []string {
	var texts []string
	for _, tick := range ticks {
		texts = append(texts, tick.Format(time.RFC3339Nano))
	}
	return texts
}
