package election_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// step is one moment of a random schedule of faults.
type step struct {
	after time.Duration
	what  string
	who   int   // candidate
	nodes []int // that the fault concerns
	long  time.Duration
}

func (s step) String() string {
	return fmt.Sprintf("after %v %s candidate %d nodes %v (%v)", s.after, s.what, s.who, s.nodes, s.long)
}

func drawSchedule(t *rapid.T, candidates, nodes int) []step {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			after: time.Duration(rapid.IntRange(0, 6000).Draw(t, "after")) * time.Millisecond,
			what: rapid.SampledFrom([]string{
				"cut", "hang", "delay", "lose replies of", "heal", "kill", "restart", "stop",
			}).Draw(t, "what"),
			who:   rapid.IntRange(0, candidates-1).Draw(t, "who"),
			nodes: rapid.SliceOfNDistinct(rapid.IntRange(0, nodes-1), 1, nodes, rapid.ID).Draw(t, "nodes"),
			long:  time.Duration(rapid.IntRange(1, 120).Draw(t, "long")) * time.Millisecond,
		}
	}), 5, 15).Draw(t, "schedule")
}

// Whatever happens to the network and to nodes that keep their data: terms never overlap, tokens
// increase, and when all is well again somebody leads.
func TestSchedules_TermsNeverOverlap(t *testing.T) {
	const candidates, nodes = 3, 3
	rapid.Check(t, func(rt *rapid.T) {
		schedule := drawSchedule(rt, candidates, nodes)
		bubble(t, nodes, func(t *testing.T, c *cluster) {
			var all []*candidate
			for i := range candidates {
				all = append(all, c.replica(fmt.Sprint("pod-", i), time.Duration(i)*time.Second))
			}
			for _, s := range schedule {
				time.Sleep(s.after)
				play(c, all[s.who], s)
			}
			for i := range nodes {
				c.Restart(i)
			}
			c.Heal()
			for _, p := range all {
				p.again()
			}
			time.Sleep(2 * time.Second) // what was refused is dialed again once a second
			healed := time.Now()
			leader(all...)
			if took := time.Since(healed); took > 3*ttl {
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
				lines := make([]string, len(schedule))
				for i, s := range schedule {
					lines[i] = s.String()
				}
				t.Logf("schedule:\n%s", strings.Join(lines, "\n"))
			}
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

func play(c *cluster, p *candidate, s step) {
	switch s.what {
	case "cut":
		p.links.Cut(s.nodes...)
	case "hang":
		p.links.Hang(s.nodes...)
	case "delay":
		p.links.Delay(s.long, s.nodes...)
	case "lose replies of":
		p.links.DropReplies(s.nodes...)
	case "heal":
		p.links.Heal()
	case "kill":
		c.Kill(s.nodes[0])
	case "restart":
		c.Restart(s.nodes[0])
	case "stop":
		p.again()
	}
}

// again stops the candidate and lets it run once more.
func (p *candidate) again() {
	p.stop()
	<-p.ended
	p.run()
}
