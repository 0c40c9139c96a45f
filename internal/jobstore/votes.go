package jobstore

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// votes has the requests of one kind for a job, on the nodes that have answered.
type votes struct {
	all   []Setting
	has   []Setting   // the newest that the node had, applied or not
	began []time.Time // start of the node's incarnation: it has lost earlier requests
}

// add adds a node's request, and the newest that its state has. A node has deleted what it has stored as applied, but that state may
// not be the one that holds.
func (v *votes) add(s, applied Setting, began, now time.Time) {
	v.all, v.has, v.began = append(v.all, s), append(v.has, newest(s, applied, now)), append(v.began, began)
}

// holds returns the newest request that a majority may have. It counts the nodes that have it, or had it before a newer one, the nodes
// that have not answered, and those that may have lost it. Nodes that may have lost it do not count for requests from before judged,
// when a leader asked a majority for them: nobody who writes to one node can make the other nodes support a request from before
// their incarnations. It ignores requests from the future.
func (v *votes) holds(q *quorum.Quorum, judged, now time.Time) (best Setting) {
	for _, s := range v.all {
		if s.Version != 0 && newest(best, s, now) == s && v.count(s, judged)+q.Size()-len(v.all) >= q.Majority() {
			best = s
		}
	}
	return best
}

// count returns how many of the nodes have a request, or had it before a newer one, or may have lost it.
func (v *votes) count(s Setting, judged time.Time) (n int) {
	for i, other := range v.has {
		if !s.IsNewer(other) || !s.At().Before(judged) && !s.At().After(v.began[i].Add(Ahead)) {
			n++
		}
	}
	return n
}
