package redlocktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Election is what all replicas take part in.
const Election = "test"

// Replica is a process of a service that has jobs. What it logs is in the test's log.
type Replica struct {
	*Process
	Locker    *redlock.Locker
	Elector   *election.Elector
	Scheduler *scheduler.Scheduler

	stop  context.CancelFunc // of the run, if there is one
	ended chan struct{}      // closed when err is what the run returned
	err   error
}

// Replica makes another process, called replica-1 and so on unless opts say otherwise. It does not campaign yet, see
// [Replica.Run] and [Replica.Lead].
func (n *Nodes) Replica(opts ...election.Option) *Replica {
	n.t.Helper()
	r := &Replica{Process: n.Process()}
	r.Locker = r.Process.Locker()
	n.mu.Lock()
	n.replicas++
	id := fmt.Sprint("replica-", n.replicas)
	n.mu.Unlock()
	log := zaptest.NewLogger(n.t, zaptest.Level(zapcore.InfoLevel)).With(zap.String("replica", id))
	var err error
	r.Elector, err = election.New(r.Locker, Election,
		append([]election.Option{election.WithIdentity(id, ""), election.WithLogger(log)}, opts...)...)
	if err != nil {
		n.t.Fatalf("redlocktest: %v", err)
	}
	if r.Scheduler, err = scheduler.New(r.Elector, scheduler.WithLogger(log)); err != nil {
		n.t.Fatalf("redlocktest: %v", err)
	}
	return r
}

// Leader makes three nodes and a replica that leads.
func Leader(t testing.TB, opts ...election.Option) *Replica {
	t.Helper()
	r := New(t, 3).Replica(opts...)
	r.Lead()
	return r
}

// Run has the replica campaign until [Replica.Stop], or until the end of the test.
func (r *Replica) Run() {
	n := r.Process.Nodes
	n.t.Helper()
	n.check("Run", false)
	if r.stop != nil {
		n.t.Fatal("redlocktest: Run of a replica that campaigns already")
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	r.stop, r.ended = stop, ended
	go func() { // told by stop; Stop or the cleanup waits for it
		defer close(ended)
		r.err = r.Elector.Run(ctx)
	}()
	n.t.Cleanup(func() {
		n.cluster.Heal() // or it would wait for what it has asked nodes that hang
		stop()
		<-ended
	})
}

// Stop ends the run as a deploy does: runs under way may finish, the lease is handed over. It returns what Elector.Run
// did. The replica may run again.
func (r *Replica) Stop() error {
	n := r.Process.Nodes
	n.t.Helper()
	n.check("Stop", false)
	if r.stop == nil {
		n.t.Fatal("redlocktest: Stop of a replica that does not campaign")
	}
	r.stop()
	<-r.ended
	r.stop = nil
	return r.err
}

// Lead has the replica campaign, if it does not yet, and waits until it leads; for as long as a lease of another may
// last at most.
func (r *Replica) Lead() *election.Term {
	n := r.Process.Nodes
	n.t.Helper()
	if r.stop == nil {
		r.Run()
	}
	const every = time.Millisecond
	patience := 2*r.Locker.Settings().MaxTTL + 10*time.Second
	for range int(patience / every) {
		if term, ok := r.Elector.Term(); ok {
			return term
		}
		time.Sleep(every)
	}
	n.t.Fatalf("redlocktest: the replica does not lead after %v: %v", patience, r.Elector.Check())
	return nil
}
