package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

func (p *program) leaderCommand() *cobra.Command {
	return &cobra.Command{
		Use: "leader", Short: "Show who leads an election", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withScheduler(cmd.Context(), func(ctx context.Context, e *election.Elector, _ *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) {
					l, err := e.Leader(ctx)
					if err != nil {
						return nil, table{}, p.nobodyLeads(ctx, e, err)
					}
					left := max(time.Until(l.Expires), 0)
					shown := table{
						head: []string{"LEADER", "VALUE", "TERM", "LEASE LEFT"},
						rows: [][]string{{l.ID, l.Value, fmt.Sprint(l.Token), short(left)}},
					}
					return map[string]any{
						"election": or(p.election, electionVariable), "id": l.ID, "value": l.Value, "term": l.Token, "lease_ms": left.Milliseconds(),
					}, shown, nil
				})
			})
		},
	}
}
