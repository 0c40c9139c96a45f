package scheduler_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
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
		schedule, err := scheduler.Parse(tt.spec, nil)
		if schedule != nil || !errors.Is(err, scheduler.ErrSpec) {
			t.Errorf("Parse(%q) = %v, %v; want ErrSpec", tt.spec, schedule, err)
			continue
		}
		if !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("Parse(%q): %q does not say %q", tt.spec, err, tt.reason)
		}
		if len(tt.spec) < 64 && !strings.Contains(err.Error(), tt.spec) {
			t.Errorf("Parse(%q): %q does not name the spec", tt.spec, err)
		}
	}
}

func TestParse_NamesAllBadFieldsAtOnce(t *testing.T) {
	_, err := scheduler.Parse("60 5,,6 * 13 *", nil)
	want := `scheduler: bad spec "60 5,,6 * 13 *": ` +
		"minute: 60 must be from 0 to 59\n" +
		`hour: "5,,6" has an empty item in its list` + "\n" +
		"month: 13 must be from 1 to 12"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEvery_TicksAtMultiplesSinceTheEpochWhereverOneStarts(t *testing.T) {
	for _, d := range []time.Duration{time.Second, 7 * time.Second, 90 * time.Minute, 36 * time.Hour} {
		schedule, err := scheduler.Parse("@every "+d.String(), zone(t, "America/New_York"))
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
