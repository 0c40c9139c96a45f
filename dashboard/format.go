package dashboard

import (
	"fmt"
	"html/template"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
)

// relative says how far t is from now, as "in 4 min" or "12 s ago".
func relative(t, now time.Time) string {
	d := t.Sub(now)
	switch whole := ops.Duration(d.Abs().Truncate(time.Second)); {
	case whole == 0:
		return "now"
	case d > 0:
		return "in " + coarse(time.Duration(whole))
	default:
		return coarse(time.Duration(whole)) + " ago"
	}
}

// coming is like relative, for the next tick of a job. If the tick's time has passed, coming says that it is due,
// because no run of it is known.
func coming(t, now time.Time) string {
	if t.Before(now.Add(-time.Second)) {
		return "due " + relative(t, now)
	}
	return relative(t, now)
}

// coarse returns a duration in one unit up to an hour, so that the page changes less often.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return ops.Duration(d.Truncate(time.Minute)).String()
	}
}

// clockTime formats a time in the named zone, or in UTC if there is no such zone. It adds the date unless t is today.
func clockTime(t, now time.Time, zone string) string {
	loc := zones.named(zone)
	t, now = t.In(loc), now.In(loc)
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04:05")
}

// clock returns a time for the page. Its script adds the local time of the browser, if that differs.
func clock(t, now time.Time, zone string) template.HTML {
	return timeElement(t, zone, clockTime(t, now, zone))
}

// zoned is like clock, with the name of the zone.
func zoned(t, now time.Time, zone string) template.HTML {
	return timeElement(t, zone, clockTime(t, now, zone)+" "+zone)
}

func timeElement(t time.Time, zone, text string) template.HTML {
	at := t.In(zones.named(zone)).Format(time.RFC3339)
	return template.HTML(`<time datetime="` + at + `">` + template.HTMLEscapeString(text) + `</time>`)
}

const maxZones = 1000 // the database has about 600

// zones caches time zones: a page has hundreds of times, and [time.LoadLocation] reads a file.
var zones = zoneCache{known: make(map[string]*time.Location)}

type zoneCache struct {
	mu    sync.Mutex // guards known
	known map[string]*time.Location
}

func (z *zoneCache) named(name string) *time.Location {
	z.mu.Lock()
	defer z.mu.Unlock()
	if loc, ok := z.known[name]; ok {
		return loc
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		loc = time.UTC
	}
	if len(z.known) >= maxZones { // names come from nodes, and one file can be read by many names
		clear(z.known)
	}
	z.known[name] = loc
	return loc
}
