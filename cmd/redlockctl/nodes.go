package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/redlock"
)

func (p *program) nodesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nodes", Short: "How the nodes are", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withLocker(cmd.Context(), func(ctx context.Context, l *redlock.Locker) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) {
					return nodes(l.Nodes(ctx))
				})
			})
		},
	}
}

// nodes fails where they are no majority; with a minority away it shows which.
func nodes(all []redlock.NodeStatus) (any, table, error) {
	type node struct {
		Addr    string `json:"addr"`
		Version string `json:"version"`
		Latency int64  `json:"latency_us"`
		Guard   int64  `json:"guard_ms"`
		Offset  int64  `json:"clock_offset_us"`
		Err     string `json:"error,omitempty"`
	}
	var list []node
	t := table{head: []string{"NODE", "STATE", "LATENCY", "GUARD", "CLOCK OFF BY", "VERSION"}}
	good := 0
	for _, n := range all {
		one := node{
			n.Addr, n.Version, n.Latency.Microseconds(), n.Guard.Milliseconds(), n.ClockOffset.Microseconds(), "",
		}
		row := []string{n.Addr, "votes", n.Latency.Round(10 * time.Microsecond).String(), "-", short(n.ClockOffset), n.Version}
		if n.Guard > 0 {
			row[1], row[3] = "grants nothing yet", short(n.Guard)
		}
		if n.Err != nil {
			one.Err = n.Err.Error()
			row = []string{n.Addr, one.Err, "-", "-", "-", n.Version}
		} else {
			good++
		}
		list = append(list, one)
		t.rows = append(t.rows, row)
	}
	if good == 0 {
		return nil, table{}, exit{unreachable, fmt.Errorf("none of the %d nodes counts: %s: %w", len(all), all[0].Addr, all[0].Err)}
	}
	return list, t, nil
}
