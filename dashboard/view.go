package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// newestRuns limits the list of last runs; each is of a different job.
const newestRuns = 20

// view is the content of a page, and of the JSON at api. Times are by the nodes' clock, in UTC.
type view struct {
	Election string       `json:"election"`
	Now      time.Time    `json:"now"`
	Problems []problem    `json:"problems"` // what could not be read, or is wrong
	Leader   *ops.Leader  `json:"leader"`   // nil: nobody leads, or the leader was never read
	Replica  replica      `json:"replica"`
	Nodes    []ops.Node   `json:"nodes"`
	Jobs     []job        `json:"jobs"`
	Runs     []ops.Record `json:"runs"`  // the last of each job, the newest first
	Terms    []term       `json:"terms"` // the newest first

	Gaps     []gap         `json:"leaderless"` // the times between terms without a known leader; the newest first
	Replicas []seenReplica `json:"replicas"`   // those that the nodes know, the latest first

	LeaderKnown bool                `json:"-"` // the leader was read at least once
	JobsKnown   bool                `json:"-"` // the same for the jobs
	TermsKnown  bool                `json:"-"` // and for the terms
	last        []*scheduler.Record // the last run of each job, the newest first
	of          *snapshot
}

// replica is the process that serves the page.
type replica struct {
	ID    string         `json:"id"`
	State election.State `json:"state"`
	Since *time.Time     `json:"since,omitempty"`   // start of the term, if it leads
	Stop  ops.Duration   `json:"stop_ms,omitempty"` // the time until it stops if it cannot renew
	Check []string       `json:"check,omitempty"`   // its problems

	problems []election.Problem
}

// job is a job with what only the page says about it.
type job struct {
	ops.Job
	Words string `json:"words"` // when it ticks, in English
}

// problem says what could not be read, how old the shown value is, and why. The page shows the age in an element of
// its own: otherwise screen readers would read the text again whenever the age changes.
type problem struct {
	What, Known, Why string
	stale            bool // a part of the view could not be read
}

// String returns the problem in one line.
func (p problem) String() string { return fmt.Sprintf("%s: %s: %s", p.What, p.Known, p.Why) }

// MarshalText returns the same text as String.
func (p problem) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

type term struct {
	Term    uint64    `json:"term"`
	Replica string    `json:"replica"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`           // its end, or when its leader last recorded that it lasts
	Ended   bool      `json:"ended,omitempty"` // Until is its end, which its leader has recorded
}

// sameBegin is how far two times for the start of one term may differ: one is by the leader's clock, the other by the
// nodes' clock.
const sameBegin = 5 * time.Second

// newView builds the view of a snapshot. Many requests share it, so it must not change afterwards.
func newView(s *snapshot, election string) *view {
	now := s.now
	v := &view{ // [] in JSON, not null
		Problems: []problem{}, Nodes: []ops.Node{}, Jobs: []job{}, Runs: []ops.Record{}, Terms: []term{}, Gaps: []gap{},
		Replicas: []seenReplica{}, Election: election, of: s,
	}
	v.Problems = append(v.Problems, s.leader.stale("the leader", now)...)
	v.Problems = append(v.Problems, s.jobs.stale("the jobs", now)...)
	v.Problems = append(v.Problems, s.terms.stale("the terms", now)...)
	for _, t := range s.terms.value {
		v.Terms = append(v.Terms, term{
			Term: t.Token, Replica: firstLine(t.Replica), Since: ops.Sayable(t.Since), Until: ops.Sayable(t.Until),
			Ended: t.Ended,
		})
	}
	v.LeaderKnown, v.JobsKnown, v.TermsKnown = !s.leader.at.IsZero(), !s.jobs.at.IsZero(), !s.terms.at.IsZero()
	if l := s.leader.value; l.ID != "" {
		left := s.leader.value.Expires.Sub(s.taken)
		v.Leader = &ops.Leader{ID: firstLine(l.ID), Value: firstLine(l.Value), Term: l.Token, Lease: ops.Duration(max(left, 0))}
		if t := v.termOf(l); t != nil {
			v.Leader.Term, v.Leader.Since = t.Term, &t.Since
		}
	}
	v.Nodes = nodesOf(s.nodes)
	var unnamed []error
	said := make(map[string]string) // many jobs have the same spec
	for i := range s.jobs.value {
		status := &s.jobs.value[i]
		if err := name.Check("name", status.Job); err != nil { // no request may have it, and it may be of any length
			unnamed = append(unnamed, err)
			continue
		}
		text, ok := said[status.Spec]
		if !ok {
			text = words(status.Spec)
			said[status.Spec] = text
		}
		v.Jobs = append(v.Jobs, jobOf(status, text, now))
		if status.Last.ID != "" {
			v.last = append(v.last, &status.Last)
		}
	}
	if len(unnamed) > 0 {
		v.Problems = append(v.Problems, problem{
			What: "the jobs", Known: "not shown",
			Why: fmt.Sprintf("%d of %d, the first because its %s", len(unnamed), len(s.jobs.value),
				firstLine(unnamed[0].Error())),
		})
	}
	slices.SortFunc(v.last, func(a, b *scheduler.Record) int {
		return cmp.Or(begin(b).Compare(begin(a)), cmp.Compare(a.Job, b.Job), cmp.Compare(b.ID, a.ID))
	})
	for _, r := range v.last[:min(newestRuns, len(v.last))] {
		v.Runs = append(v.Runs, recordOf(r, now))
	}
	return v
}

// termOf returns the recorded term of a leader, or nil if there is none. While a node is unreachable, the leader's
// token may be larger than that of its term. Then its term is the newest one, if that has the same replica and began at
// the same time.
func (v *view) termOf(l election.Leader) *term {
	for i := range v.Terms {
		if v.Terms[i].Term == l.Token {
			return &v.Terms[i]
		}
	}
	if len(v.Terms) == 0 {
		return nil
	}
	newest := &v.Terms[0]
	if newest.Replica == firstLine(l.ID) && !newest.Ended && newest.Term <= l.Token &&
		newest.Since.Sub(l.Since).Abs() <= sameBegin {
		return newest
	}
	return nil
}

// find returns the job of that name, or nil if there is none.
func (v *view) find(name string) *job {
	for i := range v.Jobs {
		if v.Jobs[i].Name == name {
			return &v.Jobs[i]
		}
	}
	return nil
}

// begin returns the start of a run, or the tick itself if it did not run.
func begin(r *scheduler.Record) time.Time {
	if r.Start.IsZero() {
		return r.Tick
	}
	return r.Start
}

func replicaOf(e *election.Elector) replica {
	r := replica{ID: e.Identity(), State: e.State(), problems: e.Problems()}
	if t, leads := e.Term(); leads {
		r.Since, r.Stop = ops.When(t.Since()), ops.Duration(time.Until(t.Deadline()))
	}
	for _, p := range r.problems {
		r.Check = append(r.Check, firstLine(p.Err.Error()))
	}
	return r
}

// nodesOf returns the nodes with their texts made safe.
func nodesOf(list []redlock.NodeStatus) []ops.Node {
	all := ops.NodesOf(list)
	for i := range all {
		for _, text := range []*string{&all[i].Version, &all[i].Err, &all[i].Denied} {
			*text = firstLine(*text)
		}
	}
	return all
}

// jobOf returns a job with its texts made safe.
func jobOf(s *scheduler.Status, words string, now time.Time) job {
	j := job{Job: ops.JobOf(s, now), Words: words}
	for _, text := range []*string{&j.Spec, &j.Zone, &j.Why, &j.Waits, &j.Own, &j.Long} {
		*text = firstLine(*text)
	}
	for _, r := range []*ops.Record{j.Last, j.Ended, j.LongRun} {
		if r != nil {
			safe(r)
		}
	}
	if j.Pause != nil {
		*j.Pause = safeChange(*j.Pause)
	}
	return j
}

// recordOf returns a record with its texts made safe.
func recordOf(r *scheduler.Record, now time.Time) ops.Record {
	shown := ops.RecordOf(r, now)
	safe(&shown)
	return shown
}

func safe(r *ops.Record) {
	r.Replica, r.Err = firstLine(r.Replica), firstLine(r.Err)
	r.State = scheduler.State(firstLine(string(r.State))) // it is a CSS class too
}

func safeChange(c ops.Change) ops.Change {
	c.By, c.Reason, c.Replica = firstLine(c.By), firstLine(c.Reason), firstLine(c.Replica)
	return c
}
