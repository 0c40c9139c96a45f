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

// past is what programs get of a job's history.
type past struct {
	Ticks   []record `json:"ticks"`
	Changes []change `json:"changes"`
}

// change is what programs get of a pause, a resume or a trigger.
type change struct {
	What string    `json:"what"`
	By   string    `json:"by,omitempty"`
	From string    `json:"from"`
	At   time.Time `json:"at"`
}

func (p *program) historyCommand() *cobra.Command {
	n := 20
	c := &cobra.Command{
		Use: "history JOB", Short: "The newest ticks of a job, what became of them, and who paused, resumed or triggered it",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return exit{misused, fmt.Errorf("--number %d must be at least 1", n)}
			}
			return p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return history(ctx, s, args[0], n) })
			})
		},
	}
	c.Flags().IntVar(&n, "number", n, "of ticks and of changes, at most; 50 ticks and 20 changes are kept")
	return c
}

func history(ctx context.Context, s *scheduler.Scheduler, name string, n int) (any, table, error) {
	all, err := s.History(ctx, name, n)
	if err != nil {
		return nil, table{}, err
	}
	changes, err := s.Changes(ctx, name)
	if err != nil {
		return nil, table{}, err
	}
	found := past{make([]record, 0, len(all)), make([]change, 0, len(changes))}
	t := table{head: []string{"TICK", "OUTCOME", "REPLICA", "LAG", "TOOK", "ATTEMPT", "", "ERROR, OR WHY NOT"}}
	for _, r := range all {
		found.Ticks = append(found.Ticks, recordOf(r))
		row := []string{at(r.Tick), string(r.State), r.Replica, "-", "-", fmt.Sprint(r.Attempt), yes(r.Manual, "by hand"), r.Err}
		if !r.Start.IsZero() {
			row[3] = short(r.Start.Sub(r.Tick))
		}
		if !r.End.IsZero() && !r.Start.IsZero() {
			row[4] = short(r.End.Sub(r.Start))
		}
		t.rows = append(t.rows, row)
	}
	if len(changes) > 0 {
		t.next = &table{head: []string{"WHEN", "WHAT", "BY", "FROM"}}
	}
	for _, c := range changes[:min(n, len(changes))] {
		found.Changes = append(found.Changes, change{c.What, c.By, c.From, c.At})
		t.next.rows = append(t.next.rows, []string{at(c.At), c.What, cmp.Or(c.By, "-"), c.From})
	}
	return found, t, nil
}
