package main

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// What a table shows can be given back, also in a zone without letters in its name, and in the hour that comes twice.
func TestTimeOf_UnderstandsWhatTablesShow(t *testing.T) {
	before := time.Local
	t.Cleanup(func() { time.Local = before })
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu"} {
		loc, err := time.LoadLocation(zone)
		want.NoError(t, err)
		time.Local = loc
		twice := time.Date(2026, time.October, 25, 0, 30, 0, 0, time.UTC)
		for _, tick := range []time.Time{twice, twice.Add(time.Hour), twice.AddDate(0, -4, 0), twice.AddDate(0, 4, 0)} {
			if got, ok := timeOf(at(tick)); !ok || !got.Equal(tick) {
				t.Errorf("%s: of %q: %v, %v; want %v", zone, at(tick), got, ok, tick)
			}
		}
	}
	for _, text := range []string{"", "-", "tonight", "2026-10-25", "2026-10-25 00:30:00 XYZ", "2026-10-25 00:30:00 ", "2026-10-25 00:30:60"} {
		if got, ok := timeOf(text); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
