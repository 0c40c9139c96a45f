package scheduler

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func TestGiven_CountsTicks(t *testing.T) {
	from := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for spec, seconds := range map[string]int{"* * * * * *": 1, "*/20 * * * * *": 20, "0 * * * * *": 60} {
		schedule, err := parser.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		g := &given{schedule: schedule}
		for _, n := range []int{0, 1, 7, 500, maxCounted, 2 * maxCounted} {
			upTo := from.Add(time.Duration(n*seconds) * time.Second)
			before, at, after := g.Count(from, upTo.Add(-1)), g.Count(from, upTo), g.Count(from, upTo.Add(1))
			if most := min(n, maxCounted); before != min(max(n-1, 0), maxCounted) || at != most || after != most {
				t.Errorf("%q: %d, %d and %d of %d ticks", spec, before, at, after, n)
			}
		}
	}
}

var parser = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
