package cronspec

import (
	"strings"
	"time"
)

// A plan is the normalized form of a spec and its zone: "CRON_TZ=UTC 0 30 6 * * 1-5". It is made from the sets of values that the
// spec was parsed to, and is itself a spec with these sets. So specs with the same sets have the same plan, and other specs have
// not. The nodes store the plan of a job. If it is unchanged, the job's ticks continue, however its spec is written.

// ParsePlan reads a plan.
func ParsePlan(plan string) (Schedule, error) { return parse(plan, nil) }

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
