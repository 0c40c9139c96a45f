//go:build unix

package integration_test

import (
	"syscall"
	"testing"

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

// exit waits for the end of a leader's process.
func (c *cluster) exit(leader integration.Event) integration.Event {
	c.t.Helper()
	return c.await("exit", func(e integration.Event) bool {
		return e.Kind == integration.Exit && e.Replica == leader.Replica
	})
}
