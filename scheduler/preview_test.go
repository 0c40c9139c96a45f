package scheduler_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

func TestPreview_ListsTheTicksOfASpec(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ticks, err := scheduler.Preview("0 6 * * *", time.FixedZone("", 3600), from, 2)
	want := []time.Time{from.Add(5 * time.Hour), from.Add(29 * time.Hour)}
	if err != nil || !slices.Equal(ticks, want) {
		t.Errorf("%v, %v; want %v", ticks, err, want)
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
	ticks, err := scheduler.Preview("@yearly", nil, time.Date(9997, 6, 1, 0, 0, 0, 0, time.UTC), 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(ticks) != 3 {
		t.Errorf("got %v, want the three new years up to 10000", ticks)
	}
}
