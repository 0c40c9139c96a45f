// Quickstart shows in a quarter of a minute that the library keeps its promises. Three replicas of a service run in this
// process, with a job that is due every second. The leader is cut off from the Redis nodes, and the next one is
// stopped as in a deploy. The program prints what happens, and compares it with the promises.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	ttl   = 2 * time.Second        // how long the lease lasts; the default of 10 s would make the program slow
	every = time.Second            // from one tick of the job to the next
	work  = 250 * time.Millisecond // the duration of a run
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := run(ctx, log.New(os.Stdout, "", 0), os.Getenv("REDIS_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run opens the nodes, plays the story on them, and closes them.
func run(ctx context.Context, out *log.Logger, urls string) (facts, error) {
	config := redlockfx.Config{
		Name: "billing", TTL: ttl,
		NodeTimeout: 400 * time.Millisecond,          // ten times the default, for machines that are busy
		KeyPrefix:   "quickstart-" + rand.Text()[:8], // so that other users of the same Redis are not affected
	}
	out.Println("Three replicas of a service share a job that is due every second. Only one of\n" +
		"them may run it. If that one is lost or stopped, another one must take over.")
	nodes, err := openNodes(ctx, out, urls, config)
	if err != nil {
		return facts{}, err
	}
	seen, err := play(ctx, out, config, nodes.connect)
	return seen, errors.Join(err, nodes.close())
}

// play starts three replicas, plays the story, stops them, and checks what was promised.
func play(ctx context.Context, out *log.Logger, config redlockfx.Config, connect connector) (facts, error) {
	h := newHistory(out)
	h.act("Three replicas start, and one is elected leader.",
		fmt.Sprintf("It holds a lease: a lock that expires after %v unless the leader renews it.", config.TTL))
	replicas, err := startAll(config, connect, h)
	var records []scheduler.Record
	if err == nil {
		records, err = story(ctx, replicas, h)
	}
	h.end()
	if leader := replicas[h.leader()]; leader != nil {
		err = errors.Join(err, leader.stop()) // first, so that no tick runs while the others are stopped
	}
	for _, r := range replicas {
		err = errors.Join(err, r.stop())
	}
	seen := sumUp(h.all(), records)
	if err == nil {
		seen.print(out)
	}
	return seen, errors.Join(err, seen.check())
}

// story plays what happens to the replicas. It returns the history of the job from the nodes.
func story(ctx context.Context, replicas map[string]*replica, h *history) ([]scheduler.Record, error) {
	if err := h.await(ctx, leads, 1); err != nil {
		return nil, err
	}

	h.act("The job runs every second, on the leader only.",
		"A tick is a moment when the job is due. The job must run once for each tick.")
	if err := h.await(ctx, ended, 4); err != nil {
		return nil, err
	}
	time.Sleep(work) // until the nodes have stored the end of that run

	leader := h.leader()
	h.act(leader+" is cut off from the nodes, and cannot renew its lease.",
		"It must stop before the lease expires, because another one may lead then.")
	h.add(leader, cutOff, "cut off from all nodes, for good")
	replicas[leader].link.cut()
	if err := h.await(ctx, stopped, 1); err != nil {
		return nil, err
	}

	h.act("Another replica takes over when the lease has expired.",
		"It runs the ticks that came in between, although they are late.")
	if err := h.await(ctx, leads, 1); err != nil {
		return nil, err
	}
	if err := h.await(ctx, ended, 5); err != nil {
		return nil, err
	}
	if err := h.await(ctx, began, 1); err != nil {
		return nil, err
	}
	time.Sleep(work / 4) // into the run

	leader = h.leader()
	h.act("A deploy: "+leader+" is asked to stop, in the middle of a run.",
		"It finishes the run and releases the lease. Another one leads at once.")
	h.add(leader, stopping, "asked to stop")
	if err := replicas[leader].stop(); err != nil {
		return nil, err
	}
	if err := h.await(ctx, leads, 1); err != nil {
		return nil, err
	}
	if err := h.await(ctx, ended, 4); err != nil {
		return nil, err
	}
	return replicas[h.leader()].history(ctx)
}
