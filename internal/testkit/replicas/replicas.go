//go:build unix

// Package replicas keeps processes of a service running for a test, whatever kills them. Each process is the test
// binary itself: its TestMain makes it a replica if an environment variable is set.
package replicas

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// Service is a number of processes.
type Service struct {
	t       testing.TB
	env     func(start int) string
	keepers sync.WaitGroup // one goroutine for each process; all end with close

	mu      sync.Mutex // guards the rest
	closing bool
	starts  int
	ended   int
	running map[*exec.Cmd]bool
}

// Start starts n processes, and another one for each that ends, until the end of the test. env returns the environment
// variable of each process, as NAME=value. start counts the processes from 0.
func Start(t testing.TB, n int, env func(start int) string) *Service {
	t.Helper()
	s := &Service{t: t, env: env, running: map[*exec.Cmd]bool{}}
	t.Cleanup(s.close)
	for range n {
		s.keepers.Go(func() {
			for s.runOne() {
			}
		})
	}
	return s
}

// Ended returns how many processes have ended.
func (s *Service) Ended() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// runOne runs a process until it ends. It returns false if no other process should follow.
func (s *Service) runOne() bool {
	cmd, gone := s.start()
	if cmd == nil {
		return false
	}
	<-gone
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, cmd)
	s.ended++
	return !s.closing
}

func (s *Service) start() (*exec.Cmd, <-chan struct{}) {
	s.mu.Lock() // so that close sees every process
	defer s.mu.Unlock()
	if s.closing {
		return nil, nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), s.env(s.starts))
	cmd.Stderr = os.Stderr
	s.starts++
	gone, err := redisproc.StartChild(cmd)
	if err != nil {
		s.t.Error(err)
		return nil, nil
	}
	s.running[cmd] = true
	return cmd, gone
}

func (s *Service) close() {
	s.mu.Lock()
	s.closing = true
	for cmd := range s.running {
		_ = cmd.Process.Kill() // it may have ended
	}
	s.mu.Unlock()
	s.keepers.Wait()
}
