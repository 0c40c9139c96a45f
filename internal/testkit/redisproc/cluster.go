//go:build unix

package redisproc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Cluster is a number of nodes without replication between them.
type Cluster struct {
	server string // the path of redis-server
	dir    string
	nodes  []*Node
}

// Start starts n independent nodes and returns when each answers. It fails if ctx is done first, or
// if a node does not answer for 30 s. After an error nothing is left running.
//
// A node listens on 127.0.0.1, persists nothing, evicts nothing and requires no password. The args
// are arguments of redis-server ("--maxmemory", "64mb"). They come after ours, so they win. They must
// not change the port, the address, the folder or the default user, because Start recognizes a node
// by the default user's INFO.
func Start(ctx context.Context, n int, args ...string) (*Cluster, error) {
	if n < 1 {
		return nil, fmt.Errorf("redisproc: %d nodes asked for, need at least 1", n)
	}
	c, err := newCluster()
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := c.add(ctx, args); err != nil {
			return nil, errors.Join(fmt.Errorf("redisproc: node %d of %d: %w", i+1, n, err), c.Close())
		}
	}
	return c, nil
}

// serverVariable is the environment variable that names a program to use instead of redis-server, such as
// valkey-server.
const serverVariable = "REDIS_SERVER"

func newCluster() (*Cluster, error) {
	server, err := exec.LookPath(cmp.Or(os.Getenv(serverVariable), "redis-server"))
	if err != nil {
		return nil, fmt.Errorf("redisproc: install redis-server (Debian, Ubuntu: "+
			"apt-get install redis-server; macOS: brew install redis): %w", err)
	}
	dir, err := os.MkdirTemp("", "redisproc-")
	if err != nil {
		return nil, fmt.Errorf("redisproc: folder for the nodes: %w", err)
	}
	return &Cluster{server: server, dir: dir}, nil
}

func (c *Cluster) add(ctx context.Context, args []string) error {
	n, err := startNode(ctx, c.server, filepath.Join(c.dir, strconv.Itoa(len(c.nodes))), args)
	if err == nil {
		c.nodes = append(c.nodes, n)
	}
	return err
}

// Addrs returns the host:port of each node, in the order of [Cluster.Node].
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.addr
	}
	return addrs
}

// Node returns node i, counted from 0.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// Close closes all proxies, kills all nodes, even hung ones, waits for them and removes their files.
// Call it when no other call is running. Calling it again does nothing.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.close())
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}
