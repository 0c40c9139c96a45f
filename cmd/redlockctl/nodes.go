package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
)

func (p *program) nodesCommand() *cobra.Command {
	join, yes := false, false
	c := &cobra.Command{
		Use: "nodes", Short: "Show the state of the nodes, or accept them as the list", Args: cobra.NoArgs,
		Long: "Nodes shows for each node whether its vote counts, and its list of nodes: joined, claimed by a list that is not\n" +
			"complete yet, or fresh. Another list is one that no majority of these nodes serves.\n\n" +
			"A list of nodes changes by itself when its users have stopped. With --join --yes the nodes that answer, at least a\n" +
			"majority, become the list at once, whatever they remember. This is for what the nodes cannot know: that the other\n" +
			"nodes of the earlier list are gone. There is a risk: a process that still uses the earlier list with nodes that are\n" +
			"not among these may hold a lock that the new list grants again. Jobs may lose what only other nodes know. So stop\n" +
			"all services of the prefix first, or make sure that none uses the earlier list.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case yes && !join:
				return exit{misused, errors.New("--yes is only for --join")}
			case join && !yes:
				return exit{misused, errors.New("--join makes these nodes the list, and a process that uses the earlier list may hold a " +
					"lock beside a process with this one: read redlockctl nodes --help, then add --yes")}
			case join:
				return p.withLocker(cmd.Context(), p.joinNodes)
			}
			return p.withLocker(cmd.Context(), func(ctx context.Context, l *redlock.Locker) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) {
					return nodes(l.Nodes(ctx))
				})
			})
		},
	}
	c.Flags().BoolVar(&join, "join", false, "make the nodes that answer the list, whatever they remember")
	c.Flags().BoolVar(&yes, "yes", false, "confirm --join")
	return c
}

// joinNodes makes the nodes that answer the list.
func (p *program) joinNodes(ctx context.Context, l *redlock.Locker) error {
	var problems []error
	parts := inside.Of(l)
	all := parts.JoinNodes(ctx)
	for i, err := range all {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", parts.Quorum.Addr(i), err))
		}
	}
	if need := parts.Quorum.Majority(); len(all)-len(problems) < need {
		return exit{unreachable, fmt.Errorf("nothing was changed: %d of %d nodes answered, %d needed: %w", len(all)-len(problems), len(all), need,
			errors.Join(problems...))}
	}
	return p.show(ctx, func(ctx context.Context) (any, table, error) { return nodes(l.Nodes(ctx)) })
}

// nodes returns the state of all nodes. The error says that too few of them count.
func nodes(all []redlock.NodeStatus) (any, table, error) {
	list := ops.NodesOf(all)
	t := table{head: []string{"NODE", "STATE", "LATENCY", "GUARD", "CLOCK OFF BY", "LIST", "VERSION"}}
	good := 0
	var first error // of the first node that does not count
	for i, n := range all {
		row := []string{
			n.Addr, "votes", n.Latency.Round(10 * time.Microsecond).String(), "-", short(n.ClockOffset), list[i].List, n.Version,
		}
		if n.Guard > 0 {
			row[1], row[3] = "grants nothing yet", short(n.Guard)
		}
		if n.Err != nil {
			row = []string{n.Addr, n.Err.Error(), "-", "-", "-", "-", n.Version}
			if first == nil {
				first = fmt.Errorf("%s: %w", n.Addr, n.Err)
			}
		} else {
			good++
		}
		t.rows = append(t.rows, row)
	}
	if need := len(all)/2 + 1; good < need {
		return list, t, exit{unreachable, fmt.Errorf("%d of %d nodes count, %d needed: %w", good, len(all), need, first)}
	}
	return list, t, nil
}
