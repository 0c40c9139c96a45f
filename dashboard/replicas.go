package dashboard

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/ops"
)

const maxReplicas = 50 // limit of the list; those seen last stay

// seenReplica is a replica that the nodes know.
type seenReplica struct {
	ID    string     `json:"id"`
	Here  bool       `json:"here,omitempty"` // it serves this page
	State string     `json:"state"`          // election.State of this replica; leading or led of the others
	Seen  *time.Time `json:"seen,omitempty"` // when it last led, or ran a job
}

// replicasOf returns the known replicas, the latest first: the leader, those of the kept terms and runs, and the one
// that serves the page.
func replicasOf(v *view) []seenReplica {
	seen := make(map[string]time.Time)
	note := func(id string, at time.Time) {
		if id != "" {
			seen[id] = later(seen[id], at)
		}
	}
	for _, t := range v.Terms {
		note(t.Replica, t.Until)
	}
	for _, r := range v.last {
		if !r.Start.IsZero() {
			note(firstLine(r.Replica), ops.Sayable(later(r.Start, r.End)))
		}
	}
	if v.Leads() {
		note(v.Leader.ID, v.Now)
	}
	if _, led := seen[v.Replica.ID]; !led {
		note(v.Replica.ID, time.Time{})
	}
	all := make([]seenReplica, 0, len(seen))
	for id, at := range seen {
		r := seenReplica{ID: id, Here: id == v.Replica.ID, State: "led", Seen: ops.When(at)}
		switch {
		case r.Here:
			r.State = string(v.Replica.State)
		case v.Leads() && id == v.Leader.ID:
			r.State = string(election.StateLeading)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b seenReplica) int {
		return cmp.Or(seen[b.ID].Compare(seen[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	if len(all) > maxReplicas {
		here := slices.IndexFunc(all, func(r seenReplica) bool { return r.Here })
		if here >= maxReplicas {
			all[maxReplicas-1] = all[here]
		}
		all = all[:maxReplicas]
	}
	return all
}
