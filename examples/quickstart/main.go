// Quickstart runs the whole chain in one process: five Redis nodes, three replicas of a service, and a
// job that must run once every second in exactly one of them, while the leader is cut off from all
// nodes and the next one is stopped. It prints what happens and checks it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	ttl         = 2 * time.Second
	nodeTimeout = 200 * time.Millisecond // five times the default, for machines that are busy
	again       = 50 * time.Millisecond  // until the next look for a leader
)

func main() {
	nodes := flag.String("nodes", "", "`host:port,...` of real Redis nodes; five embedded ones if empty")
	length := flag.Duration("for", 14*time.Second, "how long it runs")
	flag.Parse()
	logging.Disable() // go-redis would print a line for each dial that fails

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *nodes, *length)
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, nodes string, length time.Duration) error {
	if length < 6*ttl {
		return fmt.Errorf("-for %v must be at least %v, to let a lease run out", length, 6*ttl)
	}
	options, closeNodes, err := openNodes(nodes)
	if err != nil {
		return err
	}
	defer closeNodes()

	fmt.Printf("new nodes grant nothing for MaxTTL (%v): nobody can tell a new node from one that forgot "+
		"its locks\n", ttl)
	h := newHistory()
	var replicas []*replica
	for i := range 3 {
		r, err := start(fmt.Sprintf("pod-%d", i+1), options, h)
		if err != nil {
			return errors.Join(err, stopAll(replicas, h))
		}
		replicas = append(replicas, r)
	}
	story(ctx, replicas, h, length)
	if err := stopAll(replicas, h); err != nil {
		return err
	}
	return h.summary(ctx.Err() == nil)
}

// openNodes returns how to make a client for each node, once for each replica.
func openNodes(list string) (options func() ([]*redis.Options, error), closeNodes func(), err error) {
	if list == "" {
		cluster := nodetest.Start(5)
		fmt.Println("five embedded nodes, three replicas, lease 2s, a job every second")
		return func() ([]*redis.Options, error) {
			links := cluster.Links()
			var all []*redis.Options
			for i := range cluster.Addrs() {
				all = append(all, links.Options(i))
			}
			return all, nil
		}, cluster.Close, nil
	}
	urls := strings.Split(list, ",")
	fmt.Printf("%d nodes, three replicas, lease 2s, a job every second\n", len(urls))
	options = func() ([]*redis.Options, error) {
		var all []*redis.Options
		for _, url := range urls {
			o, err := redlock.ClientOptions(strings.TrimSpace(url))
			if err != nil {
				return nil, err
			}
			all = append(all, o)
		}
		return all, nil
	}
	_, err = options()
	return options, func() {}, err
}

// story is what happens to the replicas: the leader is cut off at a quarter of the time, and the next
// one stopped at five eighths.
func story(ctx context.Context, replicas []*replica, h *history, length time.Duration) {
	end := time.After(length)
	cut := time.After(length / 4)
	graceful := time.After(length * 5 / 8)
	for {
		select {
		case <-cut:
			r := leaderOf(replicas)
			if r == nil {
				cut = time.After(again)
				continue
			}
			h.happened(r.name, "cut off from all nodes, for good", eventCut)
			r.link.cut()
		case <-graceful:
			r := leaderOf(replicas)
			if r == nil || r.link.isCut() {
				graceful = time.After(again)
				continue
			}
			h.happened(r.name, "stopped gracefully", eventStop)
			if err := r.stop(); err != nil {
				h.note(r.name, "stop failed: "+err.Error())
			}
		case <-end:
			return
		case <-ctx.Done():
			fmt.Println("interrupted")
			return
		}
	}
}

func leaderOf(replicas []*replica) *replica {
	for _, r := range replicas {
		if r.elector.IsLeader() {
			return r
		}
	}
	return nil
}

func stopAll(replicas []*replica, h *history) error {
	h.ending()
	var problems []error
	for _, r := range replicas {
		if err := r.stop(); err != nil && !r.link.isCut() { // a replica that is cut off cannot say goodbye
			problems = append(problems, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(problems...)
}
