//go:build unix

package once_test

import (
	"bufio"
	"encoding/json"
	"os"
	"sync/atomic"
	"syscall"
)

// step is a place in a run.
type step string

const (
	beforeFence  step = "before the fence"
	beforeEffect step = "before the effect"
	beforeCommit step = "before the commit"
	beforeEnd    step = "after the commit, before the end is recorded"
)

var allSteps = []step{beforeFence, beforeEffect, beforeCommit, beforeEnd}

// order has a replica send itself a signal at its next passage of a step.
type order struct {
	Step   step
	Signal syscall.Signal
}

// event is a line of what a replica tells.
type event struct {
	Leads bool // it leads from now on
	Step  step // it sends itself the signal now
}

// steps is the part of a replica that fails where it is told to.
type steps struct{ armed atomic.Pointer[order] }

// obey takes orders from standard input.
func (s *steps) obey() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		s.armed.Store(&o)
	}
}

// at carries out an order for this step.
func (s *steps) at(here step) {
	o := s.armed.Load()
	if o == nil || o.Step != here || !s.armed.CompareAndSwap(o, nil) {
		return
	}
	tell(event{Step: here})
	_ = syscall.Kill(os.Getpid(), o.Signal)
	if o.Signal == syscall.SIGKILL {
		select {} // until it has come
	}
}

// tell writes a line in one piece. If it fails, the test is gone.
func tell(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}
