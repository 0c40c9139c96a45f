//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	shards = 3
	slots  = 16384 // of all shards together, as in every Redis Cluster
)

// sharding keeps a shard's knowledge of the others outside its data folder, where RestartEmpty would
// remove it.
const sharding = `
cluster-enabled yes
cluster-require-full-coverage no
cluster-config-file ../nodes.conf
`

// StartSharded starts a Redis Cluster: three masters without replicas, each with an equal share of the
// slots. It returns when each of them knows all shards and serves its own slots. It fails if ctx is done
// first, or if that takes longer than a minute after they answer. Args and errors are as in [Start].
//
// If a node is down, its share of the keys is unavailable, and the other nodes continue. A node that
// restarts finds the others on its own, and refuses its keys with CLUSTERDOWN for about two seconds.
func StartSharded(ctx context.Context, args ...string) (*Cluster, error) {
	c, err := start(ctx, shards, sharding, args)
	if err != nil {
		return nil, err
	}
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("redisproc: join %d shards: %w", shards, err), c.Close())
	}
	return c, nil
}

func (c *Cluster) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	for i, n := range c.nodes {
		host, port, err := net.SplitHostPort(c.nodes[(i+1)%len(c.nodes)].addr)
		if err != nil {
			return err
		}
		first, next := i*slots/shards, (i+1)*slots/shards
		err = n.withClient(func(r *redis.Client) error {
			return errors.Join(r.ClusterAddSlotsRange(ctx, first, next-1).Err(),
				r.ClusterMeet(ctx, host, port).Err())
		})
		if err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		err := n.withClient(func(r *redis.Client) error {
			return until(ctx, nil, func() error { return joined(ctx, r) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// joined checks more than the state, because without full coverage the state is ok before any slot is known.
func joined(ctx context.Context, r *redis.Client) error {
	info, err := r.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	for _, want := range []string{
		"cluster_state:ok",
		fmt.Sprintf("cluster_slots_ok:%d", slots),
		fmt.Sprintf("cluster_known_nodes:%d", shards),
	} {
		if !strings.Contains(info, want+"\r\n") {
			return fmt.Errorf("no %s in its CLUSTER INFO:\n%s", want, info)
		}
	}
	return nil
}
