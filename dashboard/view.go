package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// newestRuns limits the list of last runs; each is of a different job.
const newestRuns = 20

// view is the content of a page, and of the JSON at api. Times are by the nodes' clock, in UTC.
type view struct {
	Election string    `json:"election"`
	Now      time.Time `json:"now"`
	Problems []problem `json:"problems"` // what could not be read, or is wrong
	Leader   *leader   `json:"leader"`   // nil: nobody leads, or the leader was never read
	Replica  replica   `json:"replica"`
	Nodes    []node    `json:"nodes"`
	Jobs     []job     `json:"jobs"`
	Runs     []record  `json:"runs"`  // the last of each job, the newest first
	Terms    []term    `json:"terms"` // the newest first

	Gaps     []gap         `json:"leaderless"` // the times between terms without a known leader; the newest first
	Replicas []seenReplica `json:"replicas"`   // those that the nodes know, the latest first

	LeaderKnown bool                `json:"-"` // the leader was read at least once
	JobsKnown   bool                `json:"-"` // the same for the jobs
	last        []*scheduler.Record // the last run of each job, the newest first
	of          *snapshot
}

type leader struct {
	ID      string     `json:"id"`
	Value   string     `json:"value,omitempty"`
	Term    uint64     `json:"term"`
	Since   *time.Time `json:"since,omitempty"`   // nil: not known
	Lease   duration   `json:"lease_ms"`          // the time left, as of Now
	Expired bool       `json:"expired,omitempty"` // no time is left: it no longer leads, or has renewed the lease since
}

// replica is the process that serves the page.
type replica struct {
	ID    string         `json:"id"`
	State election.State `json:"state"`
	Since *time.Time     `json:"since,omitempty"`   // start of the term, if it leads
	Stop  duration       `json:"stop_ms,omitempty"` // the time until it stops if it cannot renew
	Check []string       `json:"check,omitempty"`   // its problems

	problems []election.Problem
}

type node struct {
	Addr    string   `json:"addr"`
	Version string   `json:"version,omitempty"`
	Latency duration `json:"latency_ms"`
	Guard   duration `json:"guard_ms"`
	Offset  duration `json:"clock_offset_ms"`
	Err     string   `json:"error,omitempty"`
	Denied  string   `json:"denied,omitempty"` // rights that the user lacks
}

type job struct {
	Name     string     `json:"name"`
	Spec     string     `json:"spec"`
	Words    string     `json:"words"`
	Zone     string     `json:"zone"`
	Next     *time.Time `json:"next,omitempty"`
	Paused   bool       `json:"paused"`
	Pause    *change    `json:"pause,omitempty"` // who paused it, and why
	Running  bool       `json:"running"`
	Last     *record    `json:"last,omitempty"`
	LastOK   *time.Time `json:"last_ok,omitempty"`
	Failures int        `json:"failures"` // in a row
	Missed   int        `json:"missed"`
	Why      string     `json:"why,omitempty"`      // reason of the newest tick that did not run
	WhyTick  *time.Time `json:"why_tick,omitempty"` // that tick
	Waits    string     `json:"waits,omitempty"`    // for what, and until when, if it is known
	Own      string     `json:"own,omitempty"`      // this replica's spec and zone, if they differ
	Long     string     `json:"long,omitempty"`     // why a run under way takes too long
	LongRun  *record    `json:"-"`                  // that run; nil: there is none
	Lost     *time.Time `json:"lost,omitempty"`     // when the leader found that the nodes had lost its state
}

// Trouble reports whether somebody should look at the job. A tick that did not run is no trouble while the job is
// paused or running.
func (j *job) Trouble() bool {
	return j.Failures > 0 || j.Own != "" || j.Long != "" || j.Why != "" && !j.Paused && !j.Running
}

type record struct {
	Job      string          `json:"job"`
	Tick     time.Time       `json:"tick"`
	State    scheduler.State `json:"state"`
	Replica  string          `json:"replica,omitempty"`
	Term     uint64          `json:"term,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Manual   bool            `json:"manual,omitempty"`
	Rerun    bool            `json:"rerun,omitempty"`
	CaughtUp bool            `json:"caught_up,omitempty"`
	Start    *time.Time      `json:"start,omitempty"` // nil: the tick did not run
	Lag      duration        `json:"lag_ms"`
	Took     duration        `json:"took_ms"` // so far, if it has no end yet
	Err      string          `json:"error,omitempty"`
	Left     int             `json:"left_out,omitempty"` // ticks before this one that did not run either
}

// Timed reports whether the duration of the run, so far or in total, is known.
func (r record) Timed() bool {
	return r.Start != nil && r.State != scheduler.StateLost && r.State != stateUnknown
}

// Over reports whether the run has ended after a known time.
func (r record) Over() bool { return r.Timed() && r.State != scheduler.StateRunning }

// Settled reports whether the row is of a tick that may run again.
func (r record) Settled() bool {
	return r.State != scheduler.StateRunning && r.State != stateUnknown && (!r.Manual || r.Rerun)
}

// change is what somebody asked for.
type change struct {
	What    string    `json:"what"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Replica string    `json:"replica"`
	At      time.Time `json:"at"`
	Until   time.Time `json:"until,omitzero"` // when the pause ends by itself
	Tick    time.Time `json:"tick,omitzero"`  // that is to run again
}

func changeOf(c scheduler.Change) change {
	return change{
		What: c.What, By: firstLine(c.By), Reason: firstLine(c.Reason), Replica: firstLine(c.From), At: sayable(c.At),
		Until: c.Until, Tick: c.Tick,
	}
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
	Until   time.Time `json:"until"`           // the last sign of its leader, or its end
	Ended   bool      `json:"ended,omitempty"` // Until is its end, which its leader has recorded
}

// duration is written in milliseconds.
type duration time.Duration

// sameBegin is how far two times for the start of one term may differ: one is by the leader's clock, the other by the
// nodes' clock.
const sameBegin = 5 * time.Second

// newView builds the view of a snapshot. Many requests share it, so it must not change afterwards.
func newView(s *snapshot, election string) *view {
	now := s.now
	v := &view{ // [] in JSON, not null
		Problems: []problem{}, Nodes: []node{}, Jobs: []job{}, Runs: []record{}, Terms: []term{}, Gaps: []gap{},
		Replicas: []seenReplica{}, Election: election, of: s,
	}
	v.Problems = append(v.Problems, s.leader.stale("the leader", now)...)
	v.Problems = append(v.Problems, s.jobs.stale("the jobs", now)...)
	v.Problems = append(v.Problems, s.terms.stale("the terms", now)...)
	for _, t := range s.terms.value {
		v.Terms = append(v.Terms, term{
			Term: t.Token, Replica: firstLine(t.Replica), Since: sayable(t.Since), Until: sayable(t.Until), Ended: t.Ended,
		})
	}
	v.LeaderKnown, v.JobsKnown = !s.leader.at.IsZero(), !s.jobs.at.IsZero()
	if l := s.leader.value; l.ID != "" {
		left := s.leader.value.Expires.Sub(s.taken)
		v.Leader = &leader{ID: firstLine(l.ID), Value: firstLine(l.Value), Term: l.Token, Lease: duration(max(left, 0))}
		if t := v.termOf(l); t != nil {
			v.Leader.Term, v.Leader.Since = t.Term, &t.Since
		}
	}
	for _, n := range s.nodes {
		v.Nodes = append(v.Nodes, nodeOf(n))
	}
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
		r.Since, r.Stop = when(t.Since()), duration(time.Until(t.Deadline()))
	}
	for _, p := range r.problems {
		r.Check = append(r.Check, firstLine(p.Err.Error()))
	}
	return r
}

func nodeOf(n redlock.NodeStatus) node {
	shown := node{
		Addr: n.Addr, Version: firstLine(n.Version), Latency: duration(n.Latency), Guard: duration(n.Guard),
		Offset: duration(n.ClockOffset),
	}
	if n.Err != nil {
		shown.Err = firstLine(n.Err.Error())
	}
	if n.Denied != nil {
		shown.Denied = firstLine(n.Denied.Error())
	}
	return shown
}

func jobOf(s *scheduler.Status, words string, now time.Time) job {
	j := job{
		Name: s.Job, Spec: firstLine(s.Spec), Words: words, Zone: firstLine(s.Zone), Next: when(s.Next), Paused: s.Paused,
		Running: s.Running, LastOK: when(s.LastOK.Start), Failures: s.Failures, Missed: s.Missed,
		Waits: firstLine(s.Waiting.String()), Why: firstLine(s.Reason), WhyTick: when(s.ReasonTick),
		Own: firstLine(s.Own), Lost: when(s.DataLost),
	}
	if s.Last.ID != "" {
		last := recordOf(&s.Last, now)
		j.Last = &last
	}
	if s.Paused && s.Pause.What != "" {
		pause := changeOf(s.Pause)
		j.Pause = &pause
	}
	if run, why := tooLong(s, now); why != "" {
		long := recordOf(run, now)
		j.Long, j.LongRun = why, &long
	}
	return j
}

func recordOf(r *scheduler.Record, now time.Time) record {
	shown := record{
		Job: r.Job, Tick: sayable(r.Tick), State: stateOf(r.State), Replica: firstLine(r.Replica), Term: r.Token,
		Attempt: r.Attempt, Manual: r.Manual, Rerun: r.Rerun, CaughtUp: r.CaughtUp, Err: firstLine(r.Err),
		Left: max(r.Ticks-1, 0),
	}
	if r.Start.IsZero() || r.State == scheduler.StateMissed || r.State == scheduler.StateSkipped {
		return shown
	}
	shown.Start = when(r.Start)
	shown.Lag = duration(max(r.Start.Sub(r.Tick), 0))
	switch {
	case !r.End.IsZero() && r.State != scheduler.StateLost:
		shown.Took = duration(max(r.End.Sub(r.Start), 0))
	case r.State == scheduler.StateRunning:
		shown.Took = duration(max(now.Sub(r.Start), 0))
	}
	return shown
}
