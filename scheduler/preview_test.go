package scheduler_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

func TestPreview_ListsTheTicksOfASpec(t *testing.T) {
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
		ticks, err := scheduler.Preview(tt.spec, nil, at(t, from), len(tt.want))
		if err != nil {
			t.Errorf("Preview(%q): %v", tt.spec, err)
			continue
		}
		if got := format(ticks); !slices.Equal(got, tt.want) {
			t.Errorf("Preview(%q) = %v, want %v", tt.spec, got, tt.want)
		}
	}
}

func TestPreview_OfABadSpecIsAnError(t *testing.T) {
	if ticks, err := scheduler.Preview("0 0 30 2 *", nil, time.Now(), 3); !errors.Is(err, scheduler.ErrSpec) {
		t.Errorf("got %v, %v; want ErrSpec", ticks, err)
	}
}

func TestPreview_OfNoTicksOnlyValidates(t *testing.T) {
	for _, n := range []int{0, -1} {
		if ticks, err := scheduler.Preview("@daily", nil, time.Now(), n); err != nil || len(ticks) != 0 {
			t.Errorf("n = %d: got %v, %v; want none", n, ticks, err)
		}
	}
}

func TestPreview_StopsAtTheEndOfTheCalendar(t *testing.T) {
	ticks, err := scheduler.Preview("@yearly", nil, at(t, "9997-06-01T00:00:00Z"), 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(ticks) != 3 {
		t.Errorf("got %v, want the three new years up to 10000", ticks)
	}
}
