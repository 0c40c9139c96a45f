package dashboard

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// stateUnknown is the state of a run that has no end, and whose leader leads no more: nobody knows what became of it.
const stateUnknown scheduler.State = "unknown"

// leastGap is the shortest time without a leader that is shown. Handovers are shorter.
const leastGap = time.Second

// gap is a time without a known leader.
type gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Sure bool      `json:"sure"` // the leader before it has recorded its end; else it may have led for some time more
}

// present is the view right now, with what this process knows of itself: of the leader, and of what follows from that.
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

// lead says of the leader what holds now. The lease goes on running out after it was read, and this process knows of itself
// whether it leads.
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
		v.Leader = &leader{
			ID: firstLine(e.Identity()), Value: value, Term: own.Token(), Since: &since, Lease: duration(time.Until(own.Deadline())),
		}
	case v.Leader != nil:
		l := *v.Leader // others share it
		l.Lease = max(l.Lease-duration(passed), 0)
		if !leads && l.ID == e.Identity() { // it has found its own end since
			l.Lease = 0
		}
		l.Expired = l.Lease == 0
		v.Leader = &l
	}
}

// LeaderRead is when the nodes were last asked who leads.
func (v *view) LeaderRead() time.Time { return v.of.leader.at }

// LeaderStale reports that they could not be asked since.
func (v *view) LeaderStale() bool { return v.of.leader.err != nil }

// Leads reports that somebody is known to lead.
func (v *view) Leads() bool { return v.Leader != nil && !v.Leader.Expired }

// lastTerms says how long each term is known to have lasted, and when nobody is known to have led.
func (v *view) lastTerms() {
	v.Terms, v.Gaps = slices.Clone(v.Terms), []gap{}
	next := v.Now // when the next one began
	if v.Leads() && (len(v.Terms) == 0 || v.Terms[0].Term != v.Leader.Term) {
		next = time.Time{} // it is not recorded yet
		if v.Leader.Since != nil {
			next = *v.Leader.Since
		}
	}
	for i := range v.Terms {
		t := &v.Terms[i]
		switch {
		case v.Leads() && v.Leader.Term == t.Term:
			t.Until, t.Ended = v.Now, false
		case !t.Ended:
			t.Until = later(t.Until, lastSign(v, t))
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

// lastSign is when a leader is known to have worked.
func lastSign(v *view, t *term) time.Time {
	last := t.Since
	for _, r := range v.last {
		if r.Token == t.Term {
			last = later(last, sayable(later(r.Start, r.End)))
		}
	}
	return last
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isGone reports that a run's leader is known to lead no more, or not known to lead. What a later leader has started runs.
func (v *view) isGone(token uint64) bool {
	return !v.Leads() || token < v.Leader.Term
}

// lastRuns takes runs whose leader is gone for what they are.
func (v *view) lastRuns() {
	gone := func(r *record) bool { return r != nil && r.State == scheduler.StateRunning && v.isGone(r.Term) }
	cloned := false
	for i := range v.Jobs {
		if !gone(v.Jobs[i].Last) {
			continue
		}
		if !cloned { // others share them
			cloned, v.Jobs = true, slices.Clone(v.Jobs)
		}
		last := *v.Jobs[i].Last
		last.forget()
		v.Jobs[i].Last, v.Jobs[i].Running, v.Jobs[i].Long = &last, false, ""
	}
	if slices.ContainsFunc(v.Runs, func(r record) bool { return gone(&r) }) {
		v.Runs = slices.Clone(v.Runs)
		v.forgetRuns(v.Runs)
	}
}

// forgetRuns takes the runs among records whose leader is gone for what they are.
func (v *view) forgetRuns(records []record) {
	for i := range records {
		if r := &records[i]; r.State == scheduler.StateRunning && v.isGone(r.Term) {
			r.forget()
		}
	}
}

// forget makes a run that was under way one of which nothing is known.
func (r *record) forget() { r.State, r.Took = stateUnknown, 0 }
