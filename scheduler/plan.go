package scheduler

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A plan is the normalized form of a spec and its zone: "CRON_TZ=UTC 0 30 6 * * 1-5". Specs with the same meaning have the same
// plan. The nodes store the plan of a job. If it is unchanged, the job's ticks continue, however its spec is written.

func planOf(loc *time.Location, words ...string) string {
	return "CRON_TZ=" + zoneOf(loc) + " " + strings.Join(words, " ")
}

// splitPlan returns a plan's zone and spec. It omits the seconds of a spec of whole minutes, as people write it.
func splitPlan(plan string) (zone, spec string) {
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

// descriptor returns the normalized name of a descriptor: two of them have two names.
func descriptor(word string) string {
	switch word {
	case "@annually":
		return "@yearly"
	case "@midnight":
		return "@daily"
	}
	return word
}

// canonical returns checked fields in normalized form: numbers for names, * for ?, sorted lists, and always with seconds.
func canonical(fields []field, words []string) []string {
	var all []string
	if len(words) == len(layout)-1 {
		all = append(all, "0")
	}
	for i, word := range words {
		parts := strings.Split(word, ",")
		for n, part := range parts {
			parts[n] = fields[i].canonical(part)
		}
		slices.SortFunc(parts, func(a, b string) int {
			x, y := leading(a), leading(b)
			if x != y {
				return x - y
			}
			return strings.Compare(a, b)
		})
		all = append(all, strings.Join(slices.Compact(parts), ","))
	}
	return all
}

// canonical returns one part of a list in normalized form.
func (f field) canonical(part string) string {
	part, step, hasStep := strings.Cut(part, "/")
	from, to, isRange := strings.Cut(part, "-")
	text := f.number(from)
	if isRange {
		text += "-" + f.number(to)
	}
	if hasStep {
		n, _ := strconv.Atoi(step) // checked
		text += "/" + strconv.Itoa(n)
	}
	return text
}

var valueNames = map[string][]string{
	"month":       {"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"},
	"day of week": {"sun", "mon", "tue", "wed", "thu", "fri", "sat"},
}

func (f field) number(value string) string {
	if value == "?" {
		return "*"
	}
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(n)
	}
	if n := slices.Index(valueNames[f.name], strings.ToLower(value)); n >= 0 {
		return strconv.Itoa(n)
	}
	return value
}

// leading returns the number at the start of a part, or -1 if the part starts with *.
func leading(part string) int {
	end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(part)
	}
	n, err := strconv.Atoi(part[:end])
	if err != nil {
		return -1
	}
	return n
}
