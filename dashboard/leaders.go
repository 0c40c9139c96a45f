package dashboard

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// leastGap is the shortest time without a leader that the page shows. Handovers are shorter.
const leastGap = time.Second

// gap is a time without a known leader.
type gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Sure bool      `json:"sure"` // the previous leader has recorded its end; otherwise it led a little longer
}

// present returns the view as of now. It adds what this process knows about itself, and updates the leader, the terms
// and the runs accordingly.
func (v view) present(e *election.Elector) *view {
	passed := time.Since(v.of.taken)
	v.Now = v.of.now.Add(passed).UTC().Truncate(time.Millisecond)
	v.Replica = replicaOf(e)
	v.lead(e, passed)
	v.lastTerms()
	v.lastRuns()
	v.Replicas = replicasOf(&v)
	return &v
}

// lead updates the leader. The lease has less time left than when it was read, and this process knows whether it
// leads itself.
func (v *view) lead(e *election.Elector, passed time.Duration) {
	own, leads := e.Term()
	leads = leads && own.Valid()
	switch {
	case leads && (v.Leader == nil || v.Leader.Term <= own.Token()):
		v.LeaderKnown = true
		value := ""
		if v.Leader != nil && v.Leader.Term == own.Token() {
			value = v.Leader.Value
		}
		since := v.Now.Add(-time.Since(own.Since()))
		v.Leader = &ops.Leader{
			ID: firstLine(e.Identity()), Value: value, Term: own.Token(), Since: &since,
			Lease: ops.Duration(time.Until(own.Deadline())),
		}
	case v.Leader != nil:
		l := *v.Leader // others share it
		l.Lease = max(l.Lease-ops.Duration(passed), 0)
		if !leads && l.ID == e.Identity() && v.Replica.State != election.StateDraining {
			l.Lease = 0 // it has stopped leading since the read
		}
		l.Expired = l.Lease == 0
		v.Leader = &l
	}
}

// LeaderRead returns when the leader was last read.
func (v *view) LeaderRead() time.Time { return v.of.leader.at }

// LeaderStale reports whether the last attempt to read the leader failed.
func (v *view) LeaderStale() bool { return v.of.leader.err != nil }

// Leads reports whether a leader is known.
func (v *view) Leads() bool { return v.Leader != nil && !v.Leader.Expired }

// lastTerms updates how long each term is known to have lasted, and the times without a known leader.
func (v *view) lastTerms() {
	v.Terms, v.Gaps = slices.Clone(v.Terms), []gap{}
	next := v.Now // when the next term began; zero: unknown
	if v.Leads() && (len(v.Terms) == 0 || v.Terms[0].Term != v.Leader.Term) {
		next = time.Time{} // the current term is not recorded yet
		if v.Leader.Since != nil {
			next = *v.Leader.Since
		}
	}
	for i := range v.Terms {
		t := &v.Terms[i]
		if v.Leads() && v.Leader.Term == t.Term {
			t.Until, t.Ended = v.Now, false
		}
		t.Until = later(t.Until, t.Since)
		if !next.IsZero() && t.Until.After(next) {
			t.Until = next
		}
		if !next.IsZero() && next.Sub(t.Until) >= leastGap {
			v.Gaps = append(v.Gaps, gap{t.Until, next, t.Ended})
		}
		next = t.Since
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isGone reports whether the leader of a run no longer leads, or is not known to lead. If a leader is known, a run of a
// later term than the leader's still runs.
func (v *view) isGone(token uint64) bool {
	return !v.Leads() || token < v.Leader.Term
}

// lastRuns marks a run as unknown if it has no end and its leader is gone. Other views share the slices.
func (v *view) lastRuns() {
	gone := func(r *ops.Record) bool { return v.isGone(r.Term) }
	v.Jobs, v.Runs = slices.Clone(v.Jobs), slices.Clone(v.Runs)
	for i := range v.Jobs {
		v.Jobs[i].LosesRuns(gone)
	}
	for i := range v.Runs {
		v.loses(&v.Runs[i])
	}
}

// loses does the same for a record.
func (v *view) loses(r *ops.Record) {
	if r.State == scheduler.StateRunning && v.isGone(r.Term) {
		r.MarkUnknown()
	}
}
