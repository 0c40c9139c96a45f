// Bench measures package redlock beside redsync on five redis-server processes of its own, and ends
// with status 1 when a requirement is missed. README.md says what each row means.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/internal/redisproc"
)

const (
	nodes   = 5
	faulty  = 2                // the node that is hung and killed
	limit   = 2 * time.Minute  // of everything, far above what it takes
	closing = 20 * time.Second // of both sides, each time
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if missed || err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context) (missed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	logging.Disable() // go-redis would tell of each failed dial
	cluster, err := redisproc.Start(ctx, nodes)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()

	fmt.Println(machine(ctx))
	r, err := measure(ctx, cluster)
	if err != nil {
		return false, err
	}
	fmt.Print(r.table())
	requirements := r.requirements()
	for _, q := range requirements {
		fmt.Println(q)
		missed = missed || !q.ok
	}
	return missed, nil
}

// measure runs the rows: on healthy nodes, with one hung, with one dead.
func measure(ctx context.Context, cluster *redisproc.Cluster) (r results, err error) {
	node := cluster.Node(faulty)
	err = withSides(ctx, cluster.Addrs(), func(s sides) (err error) {
		if r.one, err = s.race(ctx, acquireRelease(1)); err != nil {
			return err
		}
		if r.many, err = s.race(ctx, acquireRelease(workers)); err != nil {
			return err
		}
		r.extend, err = s.race(ctx, extend)
		return err
	})
	if err != nil {
		return r, err
	}

	err = withSides(ctx, cluster.Addrs(), func(s sides) error {
		if err := node.Hang(); err != nil {
			return err
		}
		r.hung = s.endure(ctx)
		return node.Wake()
	})
	if err != nil {
		return r, err
	}

	err = withSides(ctx, cluster.Addrs(), func(s sides) error {
		if err := node.Kill(); err != nil {
			return err
		}
		r.dead = s.endure(ctx)
		return nil
	})
	return r, errors.Join(err, context.Cause(ctx))
}

func machine(ctx context.Context) string {
	server, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		server = []byte(err.Error())
	}
	return fmt.Sprintf("%d cores, %s %s/%s, %s", runtime.GOMAXPROCS(0), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(server)))
}
