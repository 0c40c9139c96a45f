package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

func (p *program) leaderCommand() *cobra.Command {
	return &cobra.Command{
		Use: "leader", Short: "Show who leads an election", Args: cobra.NoArgs,
		Long: "Leader shows who leads, until the lease is released or runs out. A leader that was asked to stop keeps the lease until\n" +
			"its work has returned. Only its log says so, because it tells the nodes nothing. The runs that it waits for are in\n" +
			"redlockctl jobs --only running.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withScheduler(cmd.Context(), func(ctx context.Context, e *election.Elector, _ *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return p.leader(ctx, e) })
			})
		},
	}
}

// leader returns who leads. If nobody does, the value says so too, and the error says why.
func (p *program) leader(ctx context.Context, e *election.Elector) (any, table, error) {
	type answer struct {
		Election string      `json:"election"`
		Leader   *ops.Leader `json:"leader"`
	}
	l, err := e.Leader(ctx)
	switch {
	case errors.Is(err, election.ErrNoLeader):
		return answer{Election: e.Name()}, table{}, p.nobodyLeads(ctx, e, err)
	case err != nil:
		return nil, table{}, err
	}
	left := max(time.Until(l.Expires), 0)
	t := table{
		head: []string{"LEADER", "VALUE", "TERM", "LEASE LEFT"},
		rows: [][]string{{l.ID, l.Value, fmt.Sprint(l.Token), short(left)}},
	}
	return answer{e.Name(), &ops.Leader{
		ID: l.ID, Value: l.Value, Term: l.Token, Since: ops.When(l.Since), Lease: ops.Duration(left), Expired: left == 0,
	}}, t, nil
}
