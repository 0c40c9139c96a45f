package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// past is the JSON of a job's history.
type past struct {
	Ticks   []record `json:"ticks"`
	Changes []change `json:"changes"`
}

// change is the JSON of a pause, a resume or a trigger.
type change struct {
	What   string    `json:"what"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	From   string    `json:"from"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until,omitzero"` // when the pause ends by itself
	Tick   time.Time `json:"tick,omitzero"`  // that is to run again
}

func changeOf(c scheduler.Change) change {
	return change{c.What, c.By, c.Reason, c.From, c.At, c.Until, c.Tick}
}

func (p *program) historyCommand() *cobra.Command {
	n := 20
	c := &cobra.Command{
		Use: "history JOB", Short: "Show the newest ticks of a job with their outcomes, and who paused, resumed or triggered it",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return exit{misused, fmt.Errorf("--number %d must be at least 1", n)}
			}
			return p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return p.history(ctx, s, args[0], n) })
			})
		},
	}
	c.Flags().IntVar(&n, "number", n, "most ticks and most changes to show; the nodes keep 50 ticks and 20 changes")
	return c
}

func (p *program) history(ctx context.Context, s *scheduler.Scheduler, name string, n int) (any, table, error) {
	status, err := s.Status(ctx, name)
	if err != nil {
		return nil, table{}, err
	}
	all, err := s.History(ctx, name, n)
	if err != nil {
		return nil, table{}, err
	}
	changes, err := s.Changes(ctx, name)
	if err != nil {
		return nil, table{}, err
	}
	found := past{make([]record, 0, len(all)), make([]change, 0, len(changes))}
	t := table{head: []string{in("TICK"), "OUTCOME", "REPLICA", "LAG", "TOOK", "ATTEMPT", "HOW", "ERROR, OR WHY NOT"}}
	for _, r := range all {
		found.Ticks = append(found.Ticks, recordOf(r))
		row := []string{at(r.Tick), outcome(r, status.Leader), r.Replica, "-", "-", fmt.Sprint(r.Attempt), how(r), r.Err}
		if !r.Start.IsZero() {
			row[3] = short(r.Start.Sub(r.Tick))
		}
		switch {
		case r.Start.IsZero():
		case !r.End.IsZero():
			row[4] = short(r.End.Sub(r.Start))
		case r.State == scheduler.StateRunning && isUnderWay(r, status.Leader):
			row[4] = sofar(time.Since(r.Start)) + " so far"
		}
		t.rows = append(t.rows, row)
	}
	if len(changes) > 0 {
		t.next = &table{head: []string{in("WHEN"), "WHAT", "BY", "REASON", "FROM"}}
	}
	for _, c := range changes[:min(n, len(changes))] {
		found.Changes = append(found.Changes, changeOf(c))
		what := c.What
		if !c.Tick.IsZero() {
			what += " of " + at(c.Tick)
		}
		if !c.Until.IsZero() {
			what += " until " + at(c.Until)
		}
		t.next.rows = append(t.next.rows, []string{at(c.At), what, cmp.Or(c.By, "-"), cmp.Or(c.Reason, "-"), c.From})
	}
	return found, t, nil
}

// how returns what is special about a record.
func how(r scheduler.Record) string {
	switch {
	case r.Ticks > 1:
		return fmt.Sprintf("%d ticks since %s", r.Ticks, at(r.From))
	case r.Rerun:
		return "run again"
	case r.Manual:
		return "triggered"
	case r.CaughtUp:
		return "caught up"
	default:
		return "-"
	}
}

// isUnderWay reports whether a run without an end belongs to the current leader. A run of an earlier leader is not
// known to be running.
func isUnderWay(r scheduler.Record, leader string) bool { return leader != "" && r.Replica == leader }

// outcome returns the state of a run as far as it is known.
func outcome(r scheduler.Record, leader string) string {
	switch {
	case r.State != scheduler.StateRunning:
		return string(r.State)
	case isUnderWay(r, leader):
		return "running"
	default:
		return "unknown: its leader is gone"
	}
}

func sofar(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }
