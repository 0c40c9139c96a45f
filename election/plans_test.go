package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/faultplan"
)

// Whatever happens to the network and to nodes, also to their data, and whatever candidates do: terms never
// overlap, tokens increase, each callback runs once in a term, and when all is well again, and the guards of
// the nodes are over, somebody leads.
func TestPlans_TermsNeverOverlap(t *testing.T) {
	const candidates, nodes = 3, 3
	rapid.Check(t, func(rt *rapid.T) {
		plan := faultplan.Draw(rt, faultplan.Config{
			Processes: candidates, Nodes: nodes, Longest: 10 * time.Second, Slowest: nodeTimeout / 2,
			Faults: append([]faultplan.Fault{{Begin: "stop"}, {Begin: "resign"}, {Begin: "panic"}}, faultplan.Faults...),
		})
		tenure := rapid.Bool().Draw(rt, "tenure")
		bubble(t, nodes, func(t *testing.T, c *cluster) {
			var all []*candidate
			panics := make([]chan string, candidates)
			for i := range candidates {
				panics[i] = make(chan string, 1)
				opts := []election.Option{
					election.WithCooldown(time.Second), election.WithPanicHandler(func(*election.PanicError) {}),
					election.OnLeader(onceInATerm(t, panics[i])),
				}
				if tenure {
					opts = append(opts, election.WithMaxTenure(2*ttl, ttl))
				}
				all = append(all, c.replica(fmt.Sprint("pod-", i), time.Duration(i)*time.Second, opts...))
			}
			for _, step := range plan {
				time.Sleep(step.After)
				switch step.What {
				case "stop":
					all[step.Who].again()
				case "resign":
					if term, leads := all[step.Who].Term(); leads {
						term.Resign(errors.New("as planned"))
					}
				case "panic":
					select {
					case panics[step.Who] <- "as planned":
					default: // it has yet to lead
					}
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

// onceInATerm is a callback that panics when it is told to.
func onceInATerm(t *testing.T, told <-chan string) func(context.Context) {
	var latest atomic.Pointer[election.Term]
	return func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		if latest.Swap(term) == term {
			t.Errorf("called twice in term %d", term.Token())
		}
		select {
		case <-ctx.Done():
		case why := <-told:
			panic(why)
		}
	}
}

// again stops the candidate and lets it run once more.
func (p *candidate) again() {
	p.stop()
	<-p.ended
	p.run()
}
