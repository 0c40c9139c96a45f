// Package ops has what operators are shown of jobs, runs and nodes. From it the dashboard's page, its JSON and redlockctl
// have one set of names and units. Its texts are as the nodes have them: escape and cut them before you show them.
package ops

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// StateUnknown is the state of a run without an end whose leader no longer leads: its outcome is unknown.
const StateUnknown scheduler.State = "unknown"

// Record is a run of a job, or ticks that did not run.
type Record struct {
	Job      string          `json:"job"`
	Tick     time.Time       `json:"tick"`
	State    scheduler.State `json:"state"`
	Replica  string          `json:"replica,omitempty"`
	Term     uint64          `json:"term,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Manual   bool            `json:"manual,omitempty"`
	Rerun    bool            `json:"rerun,omitempty"`
	CaughtUp bool            `json:"caught_up,omitempty"`
	Start    *time.Time      `json:"start,omitempty"` // nil: it did not run
	End      *time.Time      `json:"end,omitempty"`
	Lag      *Duration       `json:"lag_ms,omitempty"`  // of the start; nil: it did not run
	Took     *Duration       `json:"took_ms,omitempty"` // so far, if it has no end yet; nil: not known
	Err      string          `json:"error,omitempty"`
	Ticks    int             `json:"ticks,omitempty"` // if the row stands for several that did not run
	From     *time.Time      `json:"from,omitempty"`  // the first of them
}

// RecordOf returns the record of a row. now is by the nodes' clock.
func RecordOf(r *scheduler.Record, now time.Time) Record {
	shown := Record{
		Job: r.Job, Tick: Sayable(r.Tick), State: r.State, Replica: r.Replica, Term: r.Token, Attempt: r.Attempt,
		Manual: r.Manual, Rerun: r.Rerun, CaughtUp: r.CaughtUp, Err: r.Err, Ticks: r.Ticks, From: When(r.From),
	}
	if r.Start.IsZero() || r.State == scheduler.StateMissed || r.State == scheduler.StateSkipped {
		return shown
	}
	shown.Start = When(r.Start)
	shown.Lag = lasted(r.Tick, r.Start)
	switch {
	case r.State == scheduler.StateRunning:
		shown.Took = lasted(r.Start, now)
	case !r.End.IsZero() && r.State != scheduler.StateLost:
		shown.End, shown.Took = When(r.End), lasted(r.Start, r.End)
	}
	return shown
}

func lasted(from, to time.Time) *Duration {
	d := Duration(max(to.Sub(from), 0))
	return &d
}

// MarkUnknown gives a run without an end the state unknown, because its leader is gone.
func (r *Record) MarkUnknown() { r.State, r.Took = StateUnknown, nil }

// Over reports whether the run has ended after a known time.
func (r *Record) Over() bool { return r.Took != nil && r.State != scheduler.StateRunning }

// Failed reports whether a run failed, was lost, or has an unknown outcome.
func (r *Record) Failed() bool {
	return r.State == scheduler.StateFailed || r.State == scheduler.StateLost || r.State == StateUnknown
}

// Settled reports whether the row is of a tick that may run again.
func (r *Record) Settled() bool {
	return r.State != scheduler.StateRunning && r.State != StateUnknown && (!r.Manual || r.Rerun)
}

// Before returns how many ticks before this one did not run either.
func (r *Record) Before() int { return max(r.Ticks-1, 0) }

// SortByTick sorts the rows of a history by their ticks, the newest first.
func SortByTick(rows []scheduler.Record) {
	slices.SortStableFunc(rows, func(a, b scheduler.Record) int { return b.Tick.Compare(a.Tick) })
}

// Usual returns how long the good ones of some runs take: their median. It is nil if there are none.
func Usual(rows []scheduler.Record) *Duration {
	var good []time.Duration
	for i := range rows {
		if r := &rows[i]; r.State == scheduler.StateOK && !r.End.IsZero() {
			good = append(good, max(r.End.Sub(r.Start), 0))
		}
	}
	if len(good) == 0 {
		return nil
	}
	slices.Sort(good)
	usual := Duration(good[len(good)/2])
	return &usual
}

// Change is what somebody asked for.
type Change struct {
	What    string    `json:"what"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Replica string    `json:"replica"` // that was asked
	At      time.Time `json:"at"`
	Until   time.Time `json:"until,omitzero"` // when the pause ends by itself
	Tick    time.Time `json:"tick,omitzero"`  // that is to run again
}

// ChangeOf returns the change for people.
func ChangeOf(c scheduler.Change) Change {
	return Change{
		What: c.What, By: c.By, Reason: c.Reason, Replica: c.From, At: Sayable(c.At), Until: Sayable(c.Until),
		Tick: Sayable(c.Tick),
	}
}
