package election_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/faultplan"
)

// Whatever happens to the network and to nodes, also to their data: terms never overlap, tokens
// increase, and when all is well again, and the guards of the nodes are over, somebody leads.
func TestPlans_TermsNeverOverlap(t *testing.T) {
	const candidates, nodes = 3, 3
	rapid.Check(t, func(rt *rapid.T) {
		plan := faultplan.Draw(rt, faultplan.Config{
			Processes: candidates, Nodes: nodes, Longest: 10 * time.Second, Slowest: nodeTimeout / 2,
			Faults: append([]faultplan.Fault{{Begin: "stop"}}, faultplan.Faults...),
		})
		bubble(t, nodes, func(t *testing.T, c *cluster) {
			var all []*candidate
			for i := range candidates {
				all = append(all, c.replica(fmt.Sprint("pod-", i), time.Duration(i)*time.Second))
			}
			for _, step := range plan {
				time.Sleep(step.After)
				if step.What == "stop" {
					all[step.Who].again()
				}
				step.Play(c.Cluster, all[step.Who].links)
			}
			faultplan.End(c.Cluster)
			for _, p := range all {
				p.again()
			}
			time.Sleep(2 * time.Second) // what was refused is dialed again once a second
			healed := time.Now()
			leader(all...)
			if took := time.Since(healed); took > 2*ttl {
				t.Errorf("nobody led for %v after all was well", took)
			}
			for _, p := range all {
				p.stop()
				<-p.ended
				if p.err != nil {
					t.Error(p.err)
				}
			}
			c.spans()
			if t.Failed() {
				t.Logf("plan:\n%v", plan)
			}
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// again stops the candidate and lets it run once more.
func (p *candidate) again() {
	p.stop()
	<-p.ended
	p.run()
}
