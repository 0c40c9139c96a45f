//go:build unix

package once_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// service is processes, each of which is this test binary. Another one follows each that ends, until the end of the test.
type service struct {
	t        testing.TB
	variable string         // of the environment; it makes the binary a replica
	keepers  sync.WaitGroup // one goroutine for each process; all end with close

	mu      sync.Mutex // guards the rest
	closing bool
	running map[*exec.Cmd]bool
}

func serve(t testing.TB, n int, variable string) {
	t.Helper()
	s := &service{t: t, variable: variable, running: map[*exec.Cmd]bool{}}
	t.Cleanup(s.close)
	for range n {
		s.keepers.Go(func() {
			for s.runOne() {
			}
		})
	}
}

// runOne runs a process until it ends. It returns false if no other process should follow.
func (s *service) runOne() bool {
	cmd, gone := s.start()
	if cmd == nil {
		return false
	}
	<-gone
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, cmd)
	return !s.closing
}

func (s *service) start() (*exec.Cmd, <-chan struct{}) {
	s.mu.Lock() // so that close sees every process
	defer s.mu.Unlock()
	if s.closing {
		return nil, nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), s.variable)
	cmd.Stderr = os.Stderr
	gone, err := redisproc.StartChild(cmd)
	if err != nil {
		s.t.Error(err)
		return nil, nil
	}
	s.running[cmd] = true
	return cmd, gone
}

func (s *service) close() {
	s.mu.Lock()
	s.closing = true
	for cmd := range s.running {
		_ = cmd.Process.Kill() // it may have ended
	}
	s.mu.Unlock()
	s.keepers.Wait()
}

// lead runs jobs that tick every second until the process is killed. Each tick runs at least once, however late.
func lead(nodes []string, run func(context.Context, scheduler.Run) error) error {
	locker, err := redlock.Open(nodes, redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/10))
	if err != nil {
		return err
	}
	elector, err := election.New(locker, "once")
	if err != nil {
		return err
	}
	s, err := scheduler.New(elector)
	if err != nil {
		return err
	}
	for n := range jobs {
		err := s.Add(scheduler.Job{
			Name: fmt.Sprintf("job %d", n), Spec: "@every 1s", Run: run, AtLeastOnce: true, MaxAttempts: 1000, // ticks outlive all faults
			CatchUp: scheduler.CatchUpAll(time.Hour), Overlap: scheduler.Queue,
			Retry: scheduler.Retry{Times: 100, Wait: 50 * time.Millisecond},
		})
		if err != nil {
			return err
		}
	}
	return elector.Run(context.Background())
}
