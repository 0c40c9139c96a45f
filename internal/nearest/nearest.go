// Package nearest finds the names that somebody who mistyped one may have meant.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	most    = 3   // names that are suggested
	longest = 200 // bytes of a name that is compared
)

// Names returns at most three of the names in all that resemble text, the likeliest first: those that differ in a few
// letters, or only in case, or where one contains the other.
func Names(text string, all []string) []string {
	type match struct {
		name string
		off  int
	}
	var found []match
	asked := strings.ToLower(text)
	for _, name := range all {
		lower := strings.ToLower(name)
		if asked == "" || len(asked) > longest || len(lower) > longest || name == text {
			continue
		}
		off := distance([]rune(asked), []rune(lower))
		switch few := 1 + len([]rune(asked))/4; {
		case off <= few:
			found = append(found, match{name, off})
		case len(asked) >= 3 && (strings.Contains(lower, asked) || strings.Contains(asked, lower) && len(lower) >= 3):
			found = append(found, match{name, few + 1})
		}
	}
	slices.SortFunc(found, func(a, b match) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, m := range found[:min(most, len(found))] {
		names = append(names, m.name)
	}
	return names
}

// Question returns "did you mean ...?" with these names, or "" if there are none.
func Question(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	switch last := len(quoted) - 1; last {
	case -1:
		return ""
	case 0:
		return "did you mean " + quoted[0] + "?"
	default:
		return "did you mean " + strings.Join(quoted[:last], ", ") + " or " + quoted[last] + "?"
	}
}

// distance returns how many letters must be added, dropped, replaced, or swapped with the next one to turn a into b.
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
