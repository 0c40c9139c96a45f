package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
)

func (p *program) nodesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nodes", Short: "Show the state of the nodes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withLocker(cmd.Context(), func(ctx context.Context, l *redlock.Locker) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) {
					return nodes(l.Nodes(ctx))
				})
			})
		},
	}
}

// nodes returns the state of all nodes. The error says that too few of them count.
func nodes(all []redlock.NodeStatus) (any, table, error) {
	var list []ops.Node
	t := table{head: []string{"NODE", "STATE", "LATENCY", "GUARD", "CLOCK OFF BY", "VERSION"}}
	good := 0
	var first error // of the first node that does not count
	for _, n := range all {
		row := []string{
			n.Addr, "votes", n.Latency.Round(10 * time.Microsecond).String(), "-", short(n.ClockOffset), n.Version,
		}
		if n.Guard > 0 {
			row[1], row[3] = "grants nothing yet", short(n.Guard)
		}
		if n.Err != nil {
			row = []string{n.Addr, n.Err.Error(), "-", "-", "-", n.Version}
			if first == nil {
				first = fmt.Errorf("%s: %w", n.Addr, n.Err)
			}
		} else {
			good++
		}
		list = append(list, ops.NodeOf(n))
		t.rows = append(t.rows, row)
	}
	if need := len(all)/2 + 1; good < need {
		return list, t, exit{unreachable, fmt.Errorf("%d of %d nodes count, %d needed: %w", good, len(all), need, first)}
	}
	return list, t, nil
}
