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
		{"0 0 L * *", `day of month: "L" is not supported`},
		{"jan * * * *", `minute: "jan" is not a number from 0 to 59`},
		{"0 0 * * 1#2", `day of week: "1#2" is not supported`},

		{"0 0 30 2 *", "never fires"},

		{"@reboot", "unrecognized descriptor: @reboot"},
		{"@daily now", "unrecognized descriptor: @daily now"},
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
		{"0 0 */4 * fri", []string{"2026-01-02T00:00:00Z", "2026-01-05T00:00:00Z"}},
		{"0 0 5 * *", []string{"2026-01-05T00:00:00Z", "2026-02-05T00:00:00Z"}},

		{"@yearly", []string{"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"}},
		{"@annually", []string{"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"}},
		{"@monthly", []string{"2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"}},
		{"@weekly", []string{"2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"}},
		{"@daily", []string{"2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"}},
		{"@hourly", []string{"2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"}},

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
