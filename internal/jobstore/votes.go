package jobstore

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// votes has the pauses of a job, or its triggers, on the nodes that have answered.
type votes struct {
	set   []Setting
	began []time.Time // start of the node's incarnation: it has lost earlier settings; zero: it has lost nothing
}

func (v *votes) add(s Setting, began time.Time) {
	v.set, v.began = append(v.set, s), append(v.began, began)
}

// holds returns the newest setting that a majority may have. It counts the nodes that have it, the nodes that have not answered, and
// those that may have lost it. Nodes that may have lost it do not count for settings from before judged, when a leader took its
// ballot: that leader has read a majority, and its state has the setting that holds. So nobody who writes to one node can make the
// other nodes support a setting from before their incarnations.
func (v *votes) holds(q *quorum.Quorum, judged, now time.Time) Setting {
	return v.most(now, func(s Setting) bool { return v.has(s, judged)+q.Size()-len(v.set) > q.Size()-q.Majority() })
}

// heldBy returns the newest setting that at least enough nodes have, or had before a newer one.
func (v *votes) heldBy(enough int, now time.Time) Setting {
	return v.most(now, func(s Setting) bool { return v.has(s, time.Time{}) >= enough })
}

// most returns the newest setting for which is returns true. It ignores settings from the future.
func (v *votes) most(now time.Time, is func(Setting) bool) (best Setting) {
	for _, s := range v.set {
		if newest(best, s, now) == s && s.Version != 0 && is(s) {
			best = s
		}
	}
	return best
}

// has returns how many of the nodes have a setting, or had it before a newer one, or may have lost it.
func (v *votes) has(s Setting, judged time.Time) (n int) {
	for i, other := range v.set {
		if !s.IsNewer(other) || !s.At().Before(judged) && !s.At().After(v.began[i].Add(Ahead)) {
			n++
		}
	}
	return n
}

// newest returns the newest setting of any node.
func (v *votes) newest(now time.Time) Setting { return v.most(now, func(Setting) bool { return true }) }
