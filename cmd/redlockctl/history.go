package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// past is the JSON of a job's history.
type past struct {
	Records []ops.Record `json:"records"`
	Changes []ops.Change `json:"changes"`
}

func (p *program) historyCommand() *cobra.Command {
	n := 20
	c := &cobra.Command{
		Use: "history JOB", Args: cobra.ExactArgs(1),
		Short:             "Show the newest ticks of a job with their outcomes, and who paused, resumed or triggered it",
		ValidArgsFunction: p.completeJobs,
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
	found := past{[]ops.Record{}, []ops.Change{}}
	status, err := s.Status(ctx, name)
	if errors.Is(err, scheduler.ErrUnknownJob) {
		return found, table{}, err
	} else if err != nil {
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
	ops.SortByTick(all)
	t := table{
		head: []string{in("TICK"), "OUTCOME", "REPLICA", "LAG", "TOOK", "ATTEMPT", "HOW", "ERROR, OR WHY NOT"},
		drop: []int{5, 3, 2, 6},
	}
	now := time.Now()
	for i := range all {
		r := ops.RecordOf(&all[i], now)
		if r.State == scheduler.StateRunning && r.Replica != status.Leader {
			r.MarkUnknown()
		}
		found.Records = append(found.Records, r)
		row := []string{at(r.Tick), outcomeOf(&r), r.Replica, "-", "-", fmt.Sprint(r.Attempt), how(&r), r.Err}
		if r.Lag != nil {
			row[3] = short(time.Duration(*r.Lag))
		}
		switch {
		case r.Took == nil:
		case r.Over():
			row[4] = short(time.Duration(*r.Took))
		default:
			row[4] = sofar(time.Duration(*r.Took)) + " so far"
		}
		t.rows = append(t.rows, row)
	}
	t.next = found.addChanges(changes[:min(n, len(changes))])
	return found, t, nil
}

// addChanges adds what people asked for, and returns the table of that, or nil if there is nothing.
func (found *past) addChanges(changes []scheduler.Change) *table {
	if len(changes) == 0 {
		return nil
	}
	t := &table{head: []string{in("WHEN"), "WHAT", "BY", "REASON", "ASKED ON"}, drop: []int{3}}
	for _, made := range changes {
		c := ops.ChangeOf(made)
		found.Changes = append(found.Changes, c)
		what := c.What
		if !c.Tick.IsZero() {
			what += " of " + at(c.Tick)
		}
		if !c.Until.IsZero() {
			what += " until " + at(c.Until)
		}
		t.rows = append(t.rows, []string{at(c.At), what, cmp.Or(c.By, "-"), cmp.Or(c.Reason, "-"), c.Replica})
	}
	return t
}

// how returns what is special about a record.
func how(r *ops.Record) string {
	switch {
	case r.Ticks > 1 && r.From != nil:
		return fmt.Sprintf("%d ticks since %s", r.Ticks, at(*r.From))
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

// outcomeOf returns the state of a run as far as it is known.
func outcomeOf(r *ops.Record) string {
	if r.State == ops.StateUnknown {
		return "unknown: its leader is gone"
	}
	return string(r.State)
}

func sofar(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }
