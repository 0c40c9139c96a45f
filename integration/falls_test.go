//go:build unix

package integration_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// fall is a way in which a leader loses its lease.
type fall struct {
	how   string
	looks int   // that it takes at its term before
	links []int // the leader's links that are cut or refused
}

func (f fall) String() string {
	return fmt.Sprintf("%s, links %v, after %d looks", f.how, f.links, f.looks)
}

// ways are all kinds of falls.
var ways = []string{"kill", "terminate", "stop", "cut", "refuse"}

// newFalls draws a random plan of n falls for one election. The same random numbers give the same plan.
func newFalls(random *rand.Rand, n int) (plan []fall) {
	for i := range n {
		f := fall{how: ways[i%len(ways)], looks: random.IntN(int(shortTTL / 3 / sampleEvery))}
		if f.how == "cut" || f.how == "refuse" {
			f.links = random.Perm(nodeCount)[:majority+random.IntN(minority+1)]
		}
		plan = append(plan, f)
	}
	random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	return plan
}

func (f fall) begin(leader *process, links []*redisproc.Proxy) {
	switch f.how {
	case "kill":
		leader.signal(syscall.SIGKILL)
	case "terminate":
		leader.signal(syscall.SIGTERM)
	case "stop":
		leader.signal(syscall.SIGSTOP)
	}
	for _, i := range f.links {
		if f.how == "cut" {
			links[i].Cut()
		} else {
			links[i].Refuse()
		}
	}
}

// end lets a leader that was stopped or cut off take part again.
func (f fall) end(leader *process, links []*redisproc.Proxy) {
	if f.how == "stop" {
		leader.signal(syscall.SIGCONT)
	}
	for _, i := range f.links {
		links[i].Heal()
	}
}
