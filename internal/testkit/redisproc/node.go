//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	startLimit   = 30 * time.Second // for a node to answer after its start
	portAttempts = 20               // ports to try before giving up
)

// Node is one redis-server. It keeps its address when it is killed and restarted. Its methods may be
// called at any time from any goroutine, except that Kill, Backup and the restarts must not overlap.
type Node struct {
	server string
	dir    string // with its settings, its output and its data
	args   []string
	port   *port
	addr   string // of the port

	mu      sync.Mutex // guards process and proxies
	process *process   // the latest, running or not
	proxies []*Proxy
}

// startNode starts a node on a free port. If another process takes the port before the node does,
// startNode tries another port. The server's own file of settings is empty; it may rewrite it.
func startNode(ctx context.Context, server, dir string, args []string) (*Node, error) {
	n := &Node{server: server, dir: dir, args: args}
	if err := os.MkdirAll(n.dataDir(), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(n.conf(), nil, 0o600); err != nil {
		return nil, err
	}
	var err error
	for range portAttempts {
		if n.port, err = takePort(); err == nil {
			n.addr = n.port.addr
			if err = n.run(ctx); err == nil {
				return n, nil
			}
			err = errors.Join(err, n.port.give())
		}
		if !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
	return nil, err
}

func (n *Node) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	host, port, err := net.SplitHostPort(n.addr)
	if err != nil {
		return err
	}
	cmd := exec.Command(n.server, append([]string{
		n.conf(), "--bind", host, "--port", port, "--dir", n.dataDir(), "--daemonize", "no",
		"--protected-mode", "no", "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction",
	}, n.args...)...)
	cmd.Dir = n.dir
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	if err := p.answers(ctx, n.addr); err != nil {
		return errors.Join(err, p.kill())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process = p
	return nil
}

// Addr returns the node's host:port.
func (n *Node) Addr() string { return n.addr }

// Hang stops the process (SIGSTOP): connections stay open and the kernel still accepts new ones, but
// the node answers nothing until Wake. Its keys continue to age.
func (n *Node) Hang() error { return n.signal(syscall.SIGSTOP) }

// Wake continues a hung process (SIGCONT), which then handles everything that it was sent meanwhile.
func (n *Node) Wake() error { return n.signal(syscall.SIGCONT) }

// Kill ends the process, hung or not, with SIGKILL, and waits until it is gone. It does nothing to a node
// that is not running.
func (n *Node) Kill() error {
	if err := n.current().kill(); err != nil {
		return fmt.Errorf("redisproc: kill node %s: %w", n.addr, err)
	}
	return nil
}

// Restart starts a killed node again on its port and returns when it answers, as Start does. The node
// comes back empty, unless the args of Start made it persist its data.
func (n *Node) Restart(ctx context.Context) error {
	return n.restart(ctx, func() error { return nil })
}

func (n *Node) restart(ctx context.Context, prepare func() error) error {
	if n.current().running() {
		return fmt.Errorf("redisproc: restart node %s: still running", n.addr)
	}
	err := prepare()
	if err == nil {
		err = n.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("redisproc: restart node %s: %w", n.addr, err)
	}
	return nil
}

// Proxy opens a new proxy in front of this node. The proxy stays when the node restarts, and is closed
// with the cluster.
func (n *Node) Proxy() (*Proxy, error) {
	p, err := newProxy(n.addr)
	if err != nil {
		return nil, fmt.Errorf("redisproc: proxy in front of node %s: %w", n.addr, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.proxies = append(n.proxies, p)
	return p, nil
}

func (n *Node) close() error {
	n.mu.Lock()
	proxies := n.proxies
	n.mu.Unlock()
	var errs []error
	for _, p := range proxies {
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, n.Kill(), n.port.give())...)
}

func (n *Node) signal(sig syscall.Signal) error {
	if err := n.current().cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("redisproc: %s to node %s: %w", sig, n.addr, err)
	}
	return nil
}

func (n *Node) current() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

func (n *Node) conf() string { return filepath.Join(n.dir, "redis.conf") }
