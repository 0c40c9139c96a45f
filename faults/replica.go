package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/election"
)

// replicaVariable has a replica as JSON. With it, this program is one.
const replicaVariable = "REDLOCKFX_FAULTS_REPLICA"

const (
	writeEvery = 10 * time.Millisecond
	endFor     = 300 * time.Millisecond // what a holder has begun takes to end
	tickEvery  = 2 * time.Second
	runFor     = 300 * time.Millisecond
	spec       = "*/2 * * * * *" // each tickEvery
)

// replica is one process of a peer.
type replica struct {
	Peer   string
	Number int
	Addrs  []string // of its links to the servers
}

// beReplica is the main function of a replica. It ends after SIGTERM.
func beReplica(variable string) error {
	logging.Disable() // go-redis reports each failed dial
	var r replica
	if err := json.Unmarshal([]byte(variable), &r); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for _, p := range peers {
		if p.name == r.Peer {
			return p.run(ctx, &r)
		}
	}
	return fmt.Errorf("there is no peer %q", r.Peer)
}

// clients returns a client of each server, with the default options.
func (r *replica) clients() (all []redis.UniversalClient) {
	for _, addr := range r.Addrs {
		all = append(all, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return all
}

// id names the replica to a library that wants a name.
func (r *replica) id() string { return fmt.Sprint("replica-", r.Number) }

// hold writes until ctx is done, and for endFor after that.
func (r *replica) hold(ctx context.Context) {
	turn, token := int64(now()), uint64(0)
	if term, ok := election.TermFrom(ctx); ok {
		token = term.Token()
	}
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	var end <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case <-ticker.C:
			r.tell(event{Kind: write, Turn: turn, Token: token})
		case <-done:
			done, end = nil, time.After(endFor)
		case <-end:
			return
		}
	}
}

// work is a run of a job, for the tick at or before now.
func (r *replica) work(context.Context) { r.workFor(time.Now().Truncate(tickEvery)) }

func (r *replica) workFor(tick time.Time) {
	r.tell(event{Kind: begin, Tick: tick})
	time.Sleep(runFor)
}

// renewed calls work with a context that is done when a lock may have expired, as a careful user does. extend renews the lock, and
// until returns when it expires.
func renewed(ctx context.Context, every time.Duration, until func() time.Time, extend func(context.Context) error, work func(context.Context)) {
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	expiry := time.AfterFunc(time.Until(until()), cancel)
	defer expiry.Stop()
	done := make(chan struct{})
	go func() { // ends with held; renewed waits for it
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-ticker.C:
				if extend(held) == nil && !expiry.Reset(time.Until(until())) {
					return // too late
				}
			}
		}
	}()
	work(held)
	cancel()
	<-done
}
