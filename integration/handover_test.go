//go:build unix

package integration_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/integration"
)

// Without renewals the lease would expire twice while the callback returns.
func TestTerminatedLeader_KeepsTheLeaseUntilItsCallbackReturns(t *testing.T) {
	t.Parallel()
	s := defaults
	s.TTL, s.EndFor, s.Drain = shortTTL, 3*shortTTL, 4*shortTTL
	c := start(t, startNodes(t, nodeCount), s)
	leader := c.leader()

	c.replicas[leader.Replica].signal(syscall.SIGTERM)
	ended := c.inTerm(integration.LeadEnd, leader)
	next := c.next(leader.Since)

	took := next.Since - ended.At
	t.Logf("the next leader began %v after the callback had returned", took)
	if took < 0 || took > shortTTL/2 || next.Since > ended.Deadline {
		t.Errorf("the next leader began %v after the callback had returned and %v after the stop deadline, "+
			"want within %v, and before", took, next.Since-ended.Deadline, shortTTL/2)
	}
	if exit := c.exit(leader); exit.Text != "" {
		t.Errorf("exit with %q", exit.Text)
	}
}

func TestTerminatedLeader_WhoseCallbackNeverReturnsIsFollowedWhenItsLeaseHasRunOut(t *testing.T) {
	t.Parallel()
	s := defaults
	s.TTL, s.EndFor, s.Drain = shortTTL, time.Hour, 2*shortTTL
	c := start(t, startNodes(t, nodeCount), s)
	leader := c.leader()

	c.replicas[leader.Replica].signal(syscall.SIGTERM)
	asked := c.inTerm(integration.LeadDone, leader)
	exit := c.exit(leader)
	next := c.next(leader.Since)

	deadline, _ := c.endOf(leader)
	t.Logf("the process ended %v after it was told to, and %v before the stop deadline; the next leader "+
		"began %v after that", exit.At-asked.At, deadline-exit.At, next.Since-deadline)
	if !strings.Contains(exit.Text, election.ErrUndrained.Error()) {
		t.Errorf("exit with %q, want %v", exit.Text, election.ErrUndrained)
	}
	if drained := exit.At - asked.At; drained < s.Drain || drained > s.Drain+s.margin()+busy {
		t.Errorf("it went on for %v, want %v and the stop margin", drained, s.Drain)
	}
	if after := next.Since - deadline; after < s.margin() || after > s.margin()+busy {
		t.Errorf("the next leader began %v after the stop deadline, want the stop margin %v",
			after, s.margin())
	}
}

// exit waits for the end of a leader's process.
func (c *cluster) exit(leader integration.Event) integration.Event {
	c.t.Helper()
	return c.await("exit", func(e integration.Event) bool {
		return e.Kind == integration.Exit && e.Replica == leader.Replica
	})
}
