package jobstore

import (
	"cmp"
	"slices"
	"time"
)

// voted returns the newest setting that so many nodes have, or had before a newer one. One of the future counts as none.
func voted(set []Setting, enough int, now time.Time) Setting {
	believed := slices.DeleteFunc(slices.Clone(set), func(s Setting) bool { return s.Version == 0 || s.At().After(now.Add(Ahead)) })
	if len(believed) < enough {
		return Setting{}
	}
	slices.SortFunc(believed, func(a, b Setting) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(b.Tie, a.Tie))
	})
	return believed[enough-1]
}
