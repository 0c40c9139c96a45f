package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// rough is a random schedule: clocks of all nodes or of some are stepped, leaders change, nodes restart, are cut off, or lose their data.
type rough struct {
	*cluster
	r       *rand.Rand
	all     []*replica
	offsets []time.Duration // of the nodes' clocks
	most    time.Duration   // the largest one so far
	older   []*nodetest.Snapshot
	log     []string
}

func (h *rough) say(format string, args ...any) {
	h.log = append(h.log, fmt.Sprint(h.At(time.Now()).Round(time.Second), " ", fmt.Sprintf(format, args...)))
}

func (h *rough) jump(node int, by time.Duration) {
	h.say("node %d jumps by %v", node, by)
	h.offsets[node] += by
	h.most = max(h.most, h.offsets[node])
	h.Jump(node, by)
}

func (h *rough) agree() {
	for i := range h.offsets {
		h.jump(i, h.offsets[0]-h.offsets[i])
	}
}

// lose makes one of three nodes lose its data, or come back with an older file. There is time before and after that.
func (h *rough) lose() {
	h.Heal()
	time.Sleep(2 * time.Minute)
	if n := len(h.older); n > 0 && h.r.IntN(2) == 0 {
		h.say("node 0 gets older data")
		h.RestartFrom(0, h.older[h.r.IntN(n)])
	} else {
		node := h.r.IntN(len(h.offsets))
		h.say("node %d loses its data", node)
		h.Kill(node)
		h.Wipe(node)
		h.Restart(node)
	}
	time.Sleep(2 * time.Minute)
	h.older = append(h.older, h.Snapshot(0))
}

// step does one thing. With losses, clocks jump all at once.
func (h *rough) step(losses bool) {
	p, node := h.all[h.r.IntN(len(h.all))], h.r.IntN(len(h.offsets))
	by := time.Duration(h.r.IntN(300_000)-200_000) * time.Millisecond
	what := h.r.IntN(8)
	switch {
	case what < 2:
		for i := range h.offsets {
			h.jump(i, by)
			if what == 1 && !losses {
				time.Sleep(time.Duration(h.r.IntN(4000)) * time.Millisecond)
			}
		}
	case what == 2:
		h.say("%s leaves", p.id)
		p.leaves()
		p.campaign()
	case losses && len(h.offsets) == 3:
		h.lose()
	case what == 3:
		h.agree()
	case what == 4: // all but one of them
		for i := range h.offsets[1:] {
			h.jump((node+i)%len(h.offsets), by)
		}
	case what == 5:
		h.say("node %d restarts", node)
		h.Restart(node)
	case what == 6:
		h.say("%s is cut off from node %d", p.id, node)
		p.links.Cut(node)
	default:
		h.say("all links heal")
		h.Heal()
	}
}

// No tick starts twice, and ticks go on afterwards.
func TestPlans_NoTickStartsTwiceOverASetBack(t *testing.T) {
	for n := range *setBacks {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			nodes := []int{1, 3, 3}[n%3]
			withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
				h := rough{cluster: c, r: rand.New(rand.NewPCG(seed, 0)), offsets: make([]time.Duration, nodes)}
				check := c.replayed(nodes)
				for _, id := range []string{"a", "b", "d"} {
					p := c.replica(id)
					job := p.job("job", "*/10 * * * * *", quick)
					job.Overlap = []scheduler.Overlap{scheduler.Allow, scheduler.Skip}[seed%2]
					job.CatchUp = []scheduler.CatchUp{scheduler.CatchUpNone(), scheduler.CatchUpAll(time.Hour), scheduler.CatchUpLast(time.Hour)}[seed/2%3]
					p.add(job)
					h.all = append(h.all, p)
				}
				for range 10 {
					time.Sleep(time.Duration(h.r.IntN(60_000)) * time.Millisecond)
					h.step(n%3 == 2)
				}
				c.Heal()
				h.agree()
				time.Sleep(5 * time.Minute)
				before := c.runsOf("job")
				time.Sleep(5 * time.Minute)
				if n := c.runsOf("job") - before; n < 5 {
					t.Errorf("it ran only %d times in the last five minutes", n)
				}
				c.wantNoneTwice("job")
				check(t)
				if t.Failed() {
					t.Log(slices.Concat([]string{fmt.Sprint(nodes, " nodes")}, h.log))
				}
			})
		})
	}
}
