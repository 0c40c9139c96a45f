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

// Election is the name of the election of all Replicas.
const Election = "test"

// Replica is a process of a service that has jobs. It logs to the log of the test, or nowhere with [Start].
type Replica struct {
	*Process
	Locker    *redlock.Locker
	Elector   *election.Elector
	Scheduler *scheduler.Scheduler

	stop  context.CancelFunc // ends the campaign; nil if there is none
	ended chan struct{}      // closed when Elector.Run has returned and err is set
	err   error
}

// Replica makes another process. Its identity is replica-1, replica-2 and so on, unless opts set another one. It
// starts to campaign with [Replica.Run] or [Replica.Lead].
func (n *Nodes) Replica(opts ...election.Option) *Replica {
	n.owner.Helper()
	r := &Replica{Process: n.Process()}
	r.Locker = r.Process.Locker()
	n.mu.Lock()
	n.replicas++
	id := fmt.Sprint("replica-", n.replicas)
	n.mu.Unlock()
	log := zap.NewNop()
	if t, ok := n.owner.(testing.TB); ok {
		log = zaptest.NewLogger(t, zaptest.Level(zapcore.InfoLevel)).Named(id)
	}
	var err error
	r.Elector, err = election.New(r.Locker, Election,
		append([]election.Option{election.WithIdentity(id, ""), election.WithLogger(log)}, opts...)...)
	if err != nil {
		n.owner.Fatalf("redlocktest: %v", err)
	}
	if r.Scheduler, err = scheduler.New(r.Elector, scheduler.WithLogger(log)); err != nil {
		n.owner.Fatalf("redlocktest: %v", err)
	}
	return r
}

// Leader starts three nodes with [New] and returns a replica that leads.
func Leader(t testing.TB, opts ...election.Option) *Replica {
	t.Helper()
	r := New(t, 3).Replica(opts...)
	r.Lead()
	return r
}

// Run starts to campaign, until [Replica.Stop], the end of the test or [Nodes.Close].
func (r *Replica) Run() {
	n := r.Process.Nodes
	n.owner.Helper()
	n.check("Run", false)
	if r.stop != nil {
		n.owner.Fatalf("redlocktest: Run of a replica that campaigns already")
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	r.stop, r.ended = stop, ended
	go func() { // ended by stop; Stop or the end of the nodes waits for it
		defer close(ended)
		r.err = r.Elector.Run(ctx)
	}()
	n.atEnd(func() {
		stop()
		<-ended
	})
}

// Stop ends the campaign like a deploy: runs that have started may finish, then the lease is released. It returns the
// error of Elector.Run. The replica may run again.
func (r *Replica) Stop() error {
	n := r.Process.Nodes
	n.owner.Helper()
	n.check("Stop", false)
	if r.stop == nil {
		n.owner.Fatalf("redlocktest: Stop of a replica that does not campaign")
	}
	r.stop()
	<-r.ended
	r.stop = nil
	return r.err
}

// Lead campaigns, unless the replica does so already, and waits until it leads. If it does not lead after a wait
// longer than any lease, the test fails.
func (r *Replica) Lead() *election.Term {
	n := r.Process.Nodes
	n.owner.Helper()
	if r.stop == nil {
		r.Run()
	}
	const every = time.Millisecond
	timeout := 2*r.Locker.Settings().MaxTTL + 10*time.Second
	for range int(timeout / every) {
		if term, ok := r.Elector.Term(); ok {
			return term
		}
		time.Sleep(every)
	}
	n.owner.Fatalf("redlocktest: the replica does not lead after %v: %v", timeout, r.Elector.Check())
	return nil
}
