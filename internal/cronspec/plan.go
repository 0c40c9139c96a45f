package cronspec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A plan is the normalized form of a spec and its zone: "CRON_TZ=UTC 0 30 6 * * 1-5". It is made from the sets of values that the
// spec was parsed to, and is itself a spec with these sets. So specs with the same sets have the same plan, and other specs have
// not. The nodes store the plan of a job. If it is unchanged, the job's ticks continue, however its spec is written.

// ParsePlan reads a plan.
func ParsePlan(plan string) (Schedule, error) { return parse(plan, nil) }

func planOf(loc *time.Location, spec string) string {
	zone := zoneOf(loc)
	if s := stretchAt(time.Time{}, loc); s.start.IsZero() && s.end.IsZero() && s.offset == 0 { // as Etc/UTC or GMT
		zone = "UTC"
	}
	return "CRON_TZ=" + zone + " " + spec
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

// Plan returns the plan of a calendar. Parsed again, it has the same sets, and the same times of day are fixed.
func (c *calendar) Plan() string {
	dom, dow := c.spec.Dom, c.spec.Dow
	if dom == layout[3].all() || dow == layout[5].all() { // without the star: each day matches, whatever the other field says
		dom, dow = layout[3].all(), layout[5].all()
	}
	var words []string
	for i, set := range []uint64{c.spec.Second, c.spec.Minute, c.spec.Hour, dom, c.spec.Month, dow} {
		words = append(words, layout[i].text(set, c.fixed && i < 3))
	}
	if !c.fixed && !strings.ContainsAny(strings.Join(words[:3], ""), "*-") {
		words[2] = strconv.Itoa(lowest(c.spec.Hour)) + "-" + words[2] // 6,9,20 becomes 6-6,9,20, which is not fixed
	}
	return planOf(c.zone, strings.Join(words, " "))
}

// all returns the set of all values, without the star.
func (f field) all() uint64 { return (1<<f.size - 1) << f.min }

// text returns a set as a list of steps of at least three values, and of single values; or only of these if plain.
func (f field) text(set uint64, plain bool) string {
	set &^= star
	var parts []string
	for set != 0 {
		first, n := lowest(set), 1
		step := lowest(set&(set-1)) - first // to the second value
		for has(set, first+n*step) {
			n++
		}
		last := first + (n-1)*step
		part := fmt.Sprintf("%d-%d", first, last)
		switch {
		case plain || n < 3:
			part, n = strconv.Itoa(first), 1
		case first == f.min && !has(f.all(), last+step):
			part = "*"
		}
		if n > 1 && step > 1 {
			part += "/" + strconv.Itoa(step)
		}
		for i := range n {
			set &^= 1 << (first + i*step)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
