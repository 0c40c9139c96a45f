package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	nodeguard "github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/nodelist"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/internal/plain"
)

func (p *program) guardCommand() *cobra.Command {
	reset, yes, node := false, false, ""
	c := &cobra.Command{
		Use: "guard", Short: "Show each node's restart guard, or reset a wrong one", Args: cobra.NoArgs,
		Long: "Guard shows for each node when its guard started, until when the node grants nothing because of it, the\n" +
			"longest lease that the node has learned of, and the label of its list of nodes.\n\n" +
			"With --reset --node HOST:PORT --yes it deletes the guard of that one node, to recover from a forged or mistyped\n" +
			"longest lease. The next call for a lock starts a new guard, for the longest TTL of its caller. There is a risk:\n" +
			"the node forgets the longest lease, and joins its list of nodes again. If it has lost a lease that is longer than the new\n" +
			"guard, it may grant the lock again while the first holder still has it. So reset one node at a time. Between\n" +
			"two resets, wait for the longest TTL of all services under the prefix.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !reset && (node != "" || yes):
				return exit{misused, errors.New("--node and --yes are only for --reset")}
			case !reset:
				return p.withNodes(cmd.Context(), func(ctx context.Context, nodes []*redis.Client) error {
					return p.show(ctx, func(ctx context.Context) (any, table, error) { return guards(ctx, nodes, p.hash()) })
				})
			case node == "":
				return exit{misused, errors.New("--reset needs one node: give --node HOST:PORT")}
			case !yes:
				return exit{misused, fmt.Errorf("--reset makes %s forget the longest lease, so it may grant a lock again that it has "+
					"lost: read redlockctl guard --help, then add --yes", node)}
			}
			return p.withNodes(cmd.Context(), func(ctx context.Context, nodes []*redis.Client) error {
				return p.resetGuard(ctx, nodes, node)
			})
		},
	}
	c.Flags().BoolVar(&reset, "reset", false, "delete the guard of --node")
	c.Flags().StringVar(&node, "node", "", "`host:port` of the node whose guard is deleted, as guard shows it")
	c.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	return c
}

// withNodes calls fn with a client for each node, within the timeout. The clients are like those of a Locker.
func (p *program) withNodes(ctx context.Context, fn func(context.Context, []*redis.Client) error) (err error) {
	nodes, err := p.clients()
	if err != nil {
		return exit{misused, err}
	}
	defer func() {
		for _, node := range nodes {
			err = errors.Join(err, node.Close())
		}
	}()
	if p.watch {
		return fn(ctx, nodes)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return fn(ctx, nodes)
}

// addrsOf returns the addresses of nodes as [redlock.NodeStatus] has them.
func addrsOf(nodes []*redis.Client) []string {
	all := make([]redis.UniversalClient, len(nodes))
	for i, node := range nodes {
		all[i] = node
	}
	addrs, _ := nodelist.Check(all, len(all)) // redlock.Validate has checked them
	return addrs
}

// guardState is the JSON of a node's guard.
type guardState struct {
	Addr    string        `json:"addr"`
	Since   *time.Time    `json:"since,omitempty"` // nil: it has no guard, or it is not known
	Until   *time.Time    `json:"until,omitempty"`
	Left    *ops.Duration `json:"guard_ms,omitempty"` // for how long it grants nothing
	Longest *ops.Duration `json:"longest_lease_ms,omitempty"`
	Label   string        `json:"label,omitempty"`
	Used    *time.Time    `json:"list_used,omitempty"`
	Err     string        `json:"error,omitempty"`
}

// guards returns the guards of all nodes. The error says that no majority answered.
func guards(ctx context.Context, nodes []*redis.Client, hash string) (any, table, error) {
	list, rows, failed := make([]guardState, len(nodes)), make([][]string, len(nodes)), make([]error, len(nodes))
	var asking sync.WaitGroup
	addrs := addrsOf(nodes)
	for i, node := range nodes {
		asking.Go(func() { list[i], rows[i], failed[i] = askGuard(ctx, node, addrs[i], hash) }) // ends with ctx
	}
	asking.Wait()
	t := table{
		head: []string{
			"NODE", "GUARD SINCE", "GRANTS NOTHING UNTIL", "FOR", "LONGEST LEASE", "NODES IN LIST", "LIST LAST USED",
		},
		rows: rows,
	}
	answered := 0
	var first error // of the first node that did not answer
	for i, err := range failed {
		switch {
		case err == nil:
			answered++
		case first == nil:
			first = fmt.Errorf("%s: %w", addrs[i], err)
		}
	}
	if need := len(nodes)/2 + 1; answered < need {
		return list, t, exit{unreachable, fmt.Errorf("%d of %d nodes answered, %d needed: %w", answered, len(nodes), need, first)}
	}
	return list, t, nil
}

// askGuard reads the guard of a node. The error says that the node did not answer.
func askGuard(ctx context.Context, node *redis.Client, addr, hash string) (guardState, []string, error) {
	now, err := node.Time(ctx).Result()
	text := ""
	if err == nil {
		text, err = node.HGet(ctx, hash, nodeguard.Field).Result()
	}
	switch {
	case errors.Is(err, redis.Nil):
		return guardState{Addr: addr}, []string{addr, "(none)"}, nil
	case err != nil:
		err = plain.Error(err)
		return guardState{Addr: addr, Err: err.Error()}, []string{addr, err.Error()}, err
	}
	s, err := nodeguard.Parse(text)
	if err != nil {
		return guardState{Addr: addr, Err: err.Error()}, []string{addr, err.Error()}, nil
	}
	left, longest := ops.Duration(max(s.Until.Sub(now), 0)), ops.Duration(s.Longest)
	row := []string{
		addr, at(s.Since), at(s.Until), short(time.Duration(left)), short(s.Longest), s.Label, at(s.Used),
	}
	return guardState{
		addr, ops.When(s.Since), ops.When(s.Until), &left, &longest, s.Label, ops.When(s.Used), "",
	}, row, nil
}

// resetGuard deletes the guard of one node.
func (p *program) resetGuard(ctx context.Context, nodes []*redis.Client, addr string) error {
	addrs := addrsOf(nodes)
	for i, node := range nodes {
		if addrs[i] != addr && node.Options().Addr != addr {
			continue
		}
		n, err := node.HDel(ctx, p.hash(), nodeguard.Field).Result()
		switch {
		case err != nil:
			return exit{unreachable, fmt.Errorf("%s: failed to delete the guard: %w", addr, plain.Error(err))}
		case n == 0:
			return exit{no, fmt.Errorf("%s has no guard under the prefix, nothing was deleted", addr)}
		case p.output == "json":
			return p.print(map[string]string{"node": addr, "action": "reset"}, table{})
		}
		_, err = fmt.Fprintf(p.out, "the guard of %s is deleted: from the next call on, the node grants nothing for the longest TTL; wait that "+
			"long before you reset the next node\n", cell(addr))
		return err
	}
	return exit{misused, fmt.Errorf("--node %q is not one of the %d nodes", addr, len(nodes))}
}
