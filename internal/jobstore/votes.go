package jobstore

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// votes is what the nodes that have answered say that people have set: a pause, or a trigger.
type votes struct {
	set   []Setting
	began []time.Time // start of the node's incarnation: it has lost what was set before; zero: it has lost nothing
}

func (v *votes) add(s Setting, began time.Time) {
	v.set, v.began = append(v.set, s), append(v.began, began)
}

// holds returns the newest setting that a majority may have: nodes that say so, nodes that have not answered, and those that may
// have lost it. The latter do not count for what was set before the state was judged by a leader: the leader has read a majority,
// and its states have what holds. So nobody who writes to one node can have the other nodes vouch for what is older than they are.
func (v *votes) holds(q *quorum.Quorum, judged, now time.Time) Setting {
	return v.most(now, func(s Setting) bool { return v.has(s, judged)+q.Size()-len(v.set) > q.Size()-q.Majority() })
}

// heldBy returns the newest setting that so many nodes have, or had before a newer one.
func (v *votes) heldBy(enough int, now time.Time) Setting {
	return v.most(now, func(s Setting) bool { return v.has(s, time.Time{}) >= enough })
}

// most returns the newest setting for which something is true. One of the future counts as none.
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
