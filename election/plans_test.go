package election_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/testkit/faultplan"
)

// Whatever happens to the network, the nodes, their data and the candidates: terms never overlap, tokens increase, and each
// callback runs once in a term. When all is well again and the guards are over, somebody leads.
func TestPlans_TermsNeverOverlap(t *testing.T) {
	t.Parallel()
	const candidates, nodes = 3, 3
	rapid.Check(t, func(rt *rapid.T) {
		plan := faultplan.Draw(rt, faultplan.Config{
			Processes: candidates, Nodes: nodes, Longest: 10 * time.Second, Slowest: nodeTimeout / 2,
			Faults: append([]faultplan.Fault{
				{Begin: "stop"}, {Begin: "crash"}, {Begin: "sleep"}, {Begin: "resign"}, {Begin: "panic"},
			}, faultplan.Faults...),
		})
		tenure := rapid.Bool().Draw(rt, "tenure")
		inSeries(t, nodes, func(t *testing.T, c *cluster) {
			all := make([]*candidate, candidates)
			clocks := make([]*clock.Clock, candidates)
			panics := make([]chan string, candidates)
			// The work of the last candidate outlives a lost lease.
			lag := func(i int) time.Duration { return time.Duration(i) * margin * 3 / 4 }
			start := func(i int) {
				panics[i] = make(chan string, 1)
				id := fmt.Sprint("pod-", i)
				opts := []election.Option{
					election.WithCooldown(time.Second), election.WithPanicHandler(func(*election.PanicError) {}),
					election.OnLeader(onceInATerm(t, panics[i])), election.OnLeader(c.record(id, lag(i))),
				}
				if tenure {
					opts = append(opts, election.WithMaxTenure(3*ttl/2))
				}
				all[i], clocks[i] = c.sleeper(id, opts...)
				all[i].run()
			}
			for i := range candidates {
				start(i)
			}
			lost := make(map[int]bool) // nodes that lost data
			defer func() {
				if t.Failed() {
					for _, p := range all {
						t.Logf("%s: %v", p.id, p.Problems())
					}
					for i := range nodes {
						t.Logf("node %d: %s", i, c.Cluster.Node(i).HGet("{redlock}", "s"))
					}
					t.Logf("plan:\n%v", plan)
				}
			}()
			for _, step := range plan {
				time.Sleep(step.After)
				if strings.Contains(step.What, "wipe") || strings.Contains(step.What, "copy") {
					for _, node := range step.Nodes {
						lost[node] = true
					}
				}
				switch step.What {
				case "stop":
					all[step.Who].again()
				case "crash": // it never comes back; a new process takes its place
					all[step.Who].links.Cut()
					all[step.Who].stop()
					start(step.Who)
				case "sleep":
					clocks[step.Who].Suspend(step.Long)
				case "resign":
					if term, leads := all[step.Who].Term(); leads {
						term.Resign(errors.New("as planned"))
					}
				case "panic":
					select {
					case panics[step.Who] <- "as planned":
					default: // it does not lead yet
					}
				}
				step.Play(c.Cluster.Cluster, all[step.Who].links)
			}
			faultplan.End(c.Cluster.Cluster)
			for _, p := range all {
				p.again()
			}
			time.Sleep(2 * time.Second) // refused connections are dialed again once a second
			healed := time.Now()
			leader(all...)
			// The guard of restarted nodes, the time without a vote of a node whose clock was stepped, and the cooldown after a
			// panic may follow each other. If a majority lost its data, all nodes change to another list, each when it is unused.
			limit := 2*ttl + ttl/2
			if len(lost) > nodes/2 {
				limit += nodes * (ttl + time.Second)
			}
			if took := time.Since(healed); took > limit {
				t.Errorf("nobody led for %v after all was well, limit %v, nodes that lost data: %v", took, limit, lost)
			}
			for _, p := range all {
				p.stop()
				<-p.ended
				if p.err != nil || p.IsLeader() {
					t.Errorf("Run returned %v, and %s leads: %v", p.err, p.id, p.IsLeader())
				}
			}
			c.spans()
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// onceInATerm returns a callback that panics on request, and checks that it is called once in a term.
func onceInATerm(t *testing.T, panics <-chan string) func(context.Context) {
	var latest atomic.Pointer[election.Term]
	return func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		if latest.Swap(term) == term {
			t.Errorf("called twice in term %d", term.Token())
		}
		select {
		case <-ctx.Done():
		case why := <-panics:
			panic(why)
		}
	}
}
