// Quickstart runs the whole chain in one process: Redis at REDIS_URL or five embedded nodes, three replicas of a service, and a
// job that must run once every second in exactly one of them, while the leader is cut off from all
// nodes and the next one is stopped. It prints what happens and checks it.
package main

import (
	"cmp"
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

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

const (
	ttl         = 2 * time.Second
	nodeTimeout = 200 * time.Millisecond // five times the default, for machines that are busy
	retryAfter  = 50 * time.Millisecond  // if nobody leads
)

func main() {
	nodes := flag.String("nodes", "", "`host:port,...` of real Redis nodes; if empty, REDIS_URL, and five embedded ones without that")
	length := flag.Duration("for", 14*time.Second, "how long it runs")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, cmp.Or(*nodes, os.Getenv("REDIS_URL")), *length)
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, nodes string, length time.Duration) error {
	if length < 6*ttl {
		return fmt.Errorf("-for %v must be at least %v, to let a lease run out", length, 6*ttl)
	}
	clients, closeNodes, err := openNodes(nodes)
	if err != nil {
		return err
	}
	defer closeNodes()

	fmt.Printf("new nodes grant nothing for MaxTTL (%v): nobody can tell a new node from one that forgot "+
		"its locks\n", ttl)
	h := newHistory()
	var replicas []*replica
	for i := range 3 {
		r, err := start(fmt.Sprintf("pod-%d", i+1), clients, h)
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

// openNodes returns a function that makes the clients of a replica, one for each node.
func openNodes(list string) (clients func() []redis.UniversalClient, closeNodes func(), err error) {
	if list == "" {
		nodes, err := redlocktest.Start(5)
		if err != nil {
			return nil, nil, err
		}
		for i := range nodes.Addrs() {
			nodes.Wipe(i) // like new servers
		}
		fmt.Println("five embedded nodes, three replicas, lease 2s, a job every second")
		return func() []redis.UniversalClient { return nodes.Process().Clients() }, nodes.Close, nil
	}
	var options []*redis.Options
	for url := range strings.SplitSeq(list, ",") {
		o, err := redlock.ClientOptions(strings.TrimSpace(url))
		if err != nil {
			return nil, nil, err
		}
		options = append(options, o)
	}
	fmt.Printf("%d nodes, three replicas, lease 2s, a job every second\n", len(options))
	return func() (all []redis.UniversalClient) {
		for _, o := range options {
			all = append(all, redis.NewClient(o))
		}
		return all
	}, func() {}, nil
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
				cut = time.After(retryAfter)
				continue
			}
			h.happened(r.name, "cut off from all nodes, for good", eventCut)
			r.link.cut()
		case <-graceful:
			r := leaderOf(replicas)
			if r == nil || r.link.isCut() {
				graceful = time.After(retryAfter)
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
