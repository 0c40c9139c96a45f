package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

const replicas = 3

// link is a proxy in front of a server.
type link interface {
	Addr() string
	Cut()
	Heal()
	Close() error
}

// cluster is the replicas of one peer, with servers of their own.
type cluster struct {
	peer     *peer
	redis    *redisproc.Cluster // nil: PostgreSQL
	postgres *sqlproc.Server
	procs    [replicas]*proc

	mu     sync.Mutex // guards events
	events []event
}

// proc is one replica.
type proc struct {
	links  []link
	cmd    *exec.Cmd
	gone   <-chan struct{}
	stderr bytes.Buffer // read it only when gone
}

func startCluster(ctx context.Context, p *peer) (c *cluster, err error) {
	c = &cluster{peer: p}
	if p.servers > 0 {
		c.redis, err = redisproc.Start(ctx, p.servers)
	} else if c.postgres, err = sqlproc.StartPostgreSQL(ctx, "fsync=off"); err == nil {
		err = migrate(ctx, c.postgres.Addr())
	}
	for i := 0; i < replicas && err == nil; i++ {
		c.procs[i] = new(proc)
		if c.procs[i].links, err = c.links(); err == nil {
			err = c.start(i)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// links makes a link to each server.
func (c *cluster) links() (all []link, err error) {
	if c.redis == nil {
		l, err := sqlproc.NewProxy(c.postgres.Addr())
		return []link{l}, err
	}
	for i := range c.peer.servers {
		l, err := c.redis.Node(i).Proxy()
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// start starts a replica.
func (c *cluster) start(number int) (err error) {
	p := c.procs[number]
	r := replica{Peer: c.peer.name, Number: number}
	for _, l := range p.links {
		r.Addrs = append(r.Addrs, l.Addr())
	}
	variable, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), replicaVariable+"="+string(variable))
	p.cmd.Stdout, p.cmd.Stderr = &lines{to: c}, &p.stderr
	p.gone, err = redisproc.StartChild(p.cmd)
	return err
}

// lines takes what a replica prints.
type lines struct {
	to   *cluster
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		var e event
		if json.Unmarshal(l.rest[:end], &e) == nil && e.Kind != "" { // a library may print as well
			l.to.mu.Lock()
			l.to.events = append(l.to.events, e)
			l.to.mu.Unlock()
		}
		l.rest = slices.Clone(l.rest[end+1:])
	}
}

// told returns the events so far.
func (c *cluster) told() []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// holder returns the replica that leads: River's leader, or else that which wrote or ran last.
func (c *cluster) holder(ctx context.Context) (number int, err error) {
	if c.postgres != nil {
		return riversLeader(ctx, c.postgres.Addr())
	}
	events := c.told()
	if len(events) == 0 {
		return 0, fmt.Errorf("%s: no replica did anything; the first one printed %q", c.peer.name, c.procs[0].stderr.String())
	}
	return slices.MaxFunc(events, func(a, b event) int { return cmp.Compare(a.At, b.At) }).Replica, nil
}

func (c *cluster) signal(number int, s syscall.Signal) error {
	return c.procs[number].cmd.Process.Signal(s)
}

// end ends a replica as a deploy does, and waits for it.
func (c *cluster) end(number int) error {
	err := c.signal(number, syscall.SIGTERM)
	select {
	case <-c.procs[number].gone:
	case <-time.After(30 * time.Second): // what Kubernetes waits
		err = errors.Join(err, c.signal(number, syscall.SIGKILL))
	}
	return err
}

func (c *cluster) close() (err error) {
	for _, p := range c.procs {
		if p == nil {
			continue
		}
		if p.cmd != nil {
			_ = p.cmd.Process.Kill() // it may have ended
			<-p.gone
		}
		if c.postgres != nil {
			for _, l := range p.links {
				err = errors.Join(err, l.Close())
			}
		}
	}
	if c.redis != nil {
		err = errors.Join(err, c.redis.Close()) // with its links
	}
	if c.postgres != nil {
		err = errors.Join(err, c.postgres.Close())
	}
	return err
}
