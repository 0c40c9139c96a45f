package cronspec_test

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// change is a change of a zone's clock. It is the same for all zones that change like that at that instant.
type change struct {
	at            int64
	before, after int // seconds ahead of UTC
}

// changesOfAllZones returns the changes of all zones from 2000 to 2040, each with one zone that has it. With all, it includes
// links and zones of equal rules.
func changesOfAllZones(t *testing.T, all bool) (found []change, zones []*time.Location) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	want.NoError(t, err)
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	want.NoError(t, err)
	defer func() {
		if err := z.Close(); err != nil {
			t.Error(err)
		}
	}()
	seen := make(map[change]bool)
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		loc := zone(t, f.Name)
		last := time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); ; {
			_, end := at.In(loc).ZoneBounds()
			if end.IsZero() || !end.Before(last) {
				break
			}
			if !end.After(at) { // beyond a zone's table, on the last day of a leap year
				at = at.Add(24 * time.Hour)
				continue
			}
			at = end
			_, before := at.Add(-time.Second).In(loc).Zone()
			_, after := at.In(loc).Zone()
			c := change{at.Unix(), before, after}
			if before != after && (all || !seen[c]) {
				seen[c] = true
				found, zones = append(found, c), append(zones, loc)
			}
		}
	}
	return found, zones
}

// Two days around every change of any zone's clock, from 2000 to 2040.
func TestZone_AgreesWithASearchAroundEveryChangeOfEveryZone(t *testing.T) {
	found, zones := changesOfAllZones(t, *allZones)
	if len(found) < 1000 {
		t.Fatalf("%d changes", len(found))
	}
	for i := 0; i < len(found); i += *zoneStep {
		at := time.Unix(found[i].at, 0).UTC().Truncate(time.Minute)
		compareWithSearch(t, zones[i], at.Add(-24*time.Hour), at.Add(24*time.Hour))
	}
	t.Logf("%d changes, tested one in %d", len(found), *zoneStep)
}
