package cronspec

import (
	"strings"
	"time"
)

// A plan is the normalized form of a spec and its zone: "CRON_TZ=UTC 0 30 6 * * 1-5". It is made from the sets of values that the
// spec was parsed to, and is itself a spec with these sets. So specs with the same sets have the same plan, and other specs have
// not. The nodes store the plan of a job. If it is unchanged, the job's ticks continue, however its spec is written.

// ParsePlan reads a plan.
func ParsePlan(plan string) (Schedule, error) {
	if text, ok := strings.CutPrefix(plan, Opaque("").Plan()); ok {
		return Opaque(text), nil
	}
	return parse(plan, nil)
}

// Opaque is a text that stands for ticks which only a program knows. As a schedule, it has none.
type Opaque string

// Plan returns the plan, which no spec has.
func (o Opaque) Plan() string { return planOf(time.UTC, "@schedule "+string(o)) }

// Next returns the zero time.
func (Opaque) Next(time.Time) time.Time { return time.Time{} }

// Count returns 0.
func (Opaque) Count(_, _ time.Time) int { return 0 }

// Reading returns the zero time.
func (Opaque) Reading(time.Time) time.Time { return time.Time{} }

func planOf(loc *time.Location, spec string) string { return "CRON_TZ=" + zoneOf(loc) + " " + spec }

// isUTC reports whether a zone is another name of UTC, such as Etc/UTC or GMT.
func isUTC(loc *time.Location) bool {
	s := stretchAt(time.Time{}, loc)
	return s.start.IsZero() && s.end.IsZero() && s.offset == 0
}

// SplitPlan returns a plan's zone and spec. It omits the seconds of a spec of whole minutes, as people write it.
func SplitPlan(plan string) (zone, spec string) {
	first, rest, _ := strings.Cut(plan, " ")
	zone, _ = zoneName(first)
	if minutes, ok := strings.CutPrefix(rest, "0 "); ok && strings.Count(rest, " ") == len(layout)-1 {
		rest = minutes
	}
	return zone, rest
}

func zoneOf(loc *time.Location) string {
	if loc == nil {
		return "UTC"
	}
	return loc.String()
}
