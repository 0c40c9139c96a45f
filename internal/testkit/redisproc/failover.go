//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	masterName = "redisproc"
	sentinels  = 3
	joinLimit  = time.Minute // for running servers to find each other
)

// replicating makes a replica synchronize at once, and delete the file of the synchronization.
const replicating = `
repl-diskless-sync-delay 0
rdb-del-sync-files yes
`

// watching are the settings of a sentinel. Its arguments are the host and the port of the master.
const watching = `
sentinel monitor ` + masterName + ` %s %s 2
sentinel down-after-milliseconds ` + masterName + ` 500
sentinel failover-timeout ` + masterName + ` 3000
`

// Failover is a master with one replica, and three sentinels. They promote the replica when two of
// them have had no answer from the master for 500 ms. A node keeps its role when it restarts. A master
// that was replaced is a master again when it wakes or restarts, until the sentinels make it a replica
// some ten seconds later.
type Failover struct {
	cluster *Cluster // master, replica, sentinels
	latest  string   // the master that Promoted last returned, at first the original
}

// StartFailover starts such a group and returns when the replica is in sync and all sentinels know the
// master, the replica and each other. It fails if ctx is done first, or if that takes longer than a
// minute after they answer. The args are for master and replica. Args and errors are as in [Start].
func StartFailover(ctx context.Context, args ...string) (*Failover, error) {
	c, err := newCluster()
	if err != nil {
		return nil, err
	}
	f := &Failover{cluster: c}
	if err := f.start(ctx, args); err != nil {
		return nil, errors.Join(fmt.Errorf("redisproc: failover group: %w", err), c.Close())
	}
	return f, nil
}

func (f *Failover) start(ctx context.Context, args []string) error {
	master, err := f.cluster.add(ctx, replicating, args...)
	if err != nil {
		return fmt.Errorf("master: %w", err)
	}
	f.latest = master.addr
	host, port, err := net.SplitHostPort(master.addr)
	if err != nil {
		return err
	}
	settings := fmt.Sprintf("%sreplicaof %s %s\n", replicating, host, port)
	replica, err := f.cluster.add(ctx, settings, args...)
	if err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	// A sentinel looks for replicas when it starts, and again only after ten seconds.
	err = replica.withClient(func(r *redis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, joinLimit)
		defer cancel()
		return until(ctx, nil, func() error { return inSync(ctx, r) })
	})
	if err != nil {
		return err
	}
	for i := range sentinels {
		if _, err := f.cluster.add(ctx, fmt.Sprintf(watching, host, port), "--sentinel"); err != nil {
			return fmt.Errorf("sentinel %d of %d: %w", i+1, sentinels, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	return f.allSentinels(ctx, func(s *redis.SentinelClient) error { return f.complete(ctx, s) })
}

func inSync(ctx context.Context, r *redis.Client) error {
	info, err := r.InfoMap(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if got := info["Replication"]["master_link_status"]; got != "up" {
		return fmt.Errorf("link to its master is %q", got)
	}
	return nil
}

// complete returns an error with what the sentinel sees, unless it sees all nodes of the group.
func (f *Failover) complete(ctx context.Context, s *redis.SentinelClient) error {
	master, masterErr := s.Master(ctx, masterName).Result()
	replicas, replicasErr := s.Replicas(ctx, masterName).Result()
	others, othersErr := s.Sentinels(ctx, masterName).Result()
	if err := errors.Join(masterErr, replicasErr, othersErr); err != nil {
		return err
	}
	sees := []string{net.JoinHostPort(master["ip"], master["port"]) + " " + master["flags"]}
	for _, r := range replicas {
		sees = append(sees, r["flags"]+" "+r["master-link-status"])
	}
	for _, o := range others {
		sees = append(sees, o["flags"])
	}
	want := []string{f.Master().addr + " master", "slave ok", "sentinel", "sentinel"}
	if !slices.Equal(sees, want) {
		return fmt.Errorf("sees %q, want %q", sees, want)
	}
	return nil
}

// allSentinels calls ask for each sentinel until it returns no error.
func (f *Failover) allSentinels(ctx context.Context, ask func(*redis.SentinelClient) error) error {
	for _, n := range f.sentinels() {
		client := redis.NewSentinelClient(n.options())
		err := until(ctx, nil, func() error { return ask(client) })
		if err := errors.Join(err, client.Close()); err != nil {
			return fmt.Errorf("sentinel %s: %w", n.addr, err)
		}
	}
	return nil
}

// Name returns the name by which the sentinels know the master.
func (f *Failover) Name() string { return masterName }

// Master returns the node that was the master at the start, whatever it is now.
func (f *Failover) Master() *Node { return f.cluster.nodes[0] }

// Replica returns the node that was the replica at the start, whatever it is now.
func (f *Failover) Replica() *Node { return f.cluster.nodes[1] }

func (f *Failover) sentinels() []*Node { return f.cluster.nodes[2:] }

// Sentinels returns the host:port of each sentinel.
func (f *Failover) Sentinels() []string { return f.cluster.Addrs()[2:] }

// Promoted waits until all sentinels name a new master, and returns its host:port. New means different
// from the one that Promoted last returned, at first [Failover.Master]. It takes about two seconds from
// the end of the old master, and half a minute more if the sentinels themselves were stalled for two
// seconds. Do not call it concurrently.
func (f *Failover) Promoted(ctx context.Context) (addr string, err error) {
	err = f.allSentinels(ctx, func(s *redis.SentinelClient) error {
		at, err := s.GetMasterAddrByName(ctx, masterName).Result()
		if err != nil {
			return err
		}
		addr = net.JoinHostPort(at[0], at[1]) // there are only two nodes, so all sentinels that name a new one name the same
		if addr == f.latest {
			return errors.New("still names it")
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("redisproc: no new master in place of %s: %w", f.latest, err)
	}
	f.latest = addr
	return addr, nil
}

// Close is like [Cluster.Close], for master, replica and sentinels.
func (f *Failover) Close() error { return f.cluster.Close() }
