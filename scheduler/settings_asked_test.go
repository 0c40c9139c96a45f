package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// The caller cannot reach one node, and another one is far. The leader gets notices from two nodes only, and learns of the
// setting from the first.
func TestAsked_WhileItReachesOneNodeAfterTheOther(t *testing.T) {
	for cut := range 3 {
		slow, other := (cut+1)%3, (cut+2)%3
		t.Run(fmt.Sprint("cut ", cut), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, p := c.leader("a"), c.idle("p")
				a.add(a.job("job", "@every 24h", quick))
				c.SleepTo(31 * time.Second)
				p.links.Cut(cut)
				p.links.Delay(5*time.Millisecond, slow)
				a.links.Delay(time.Millisecond, other) // so that the other nodes answer before the one that has it
				c.must(p.Trigger(t.Context(), "job"))
				bubble.Await(t, "the run", 2*time.Second, func() bool { return len(c.records()) > 0 })
			})
		})
	}
}

// A node that publishes without end makes the leader poll at most a hundred times a second.
func TestAsked_ANodeThatPublishesWithoutEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@hourly", quick))
		c.SleepTo(30 * time.Second)
		before := c.Requests(0)
		for time.Since(c.Start) < 33*time.Second {
			c.Node(2).Publish(hash, "p x")
			time.Sleep(time.Millisecond)
		}
		if n := c.Requests(0) - before; n > 450 {
			t.Errorf("%d requests to node 0 in 3 s", n)
		}
	})
}

// A pause was made while nobody led, and one node does not have it. The next leader hears that node last, and long after it knows the
// job's state. It asks for the pause before it runs the tick that has come meanwhile.
func TestAsked_BeforeTheFirstTick(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
		addBoth(a, b, "*/10 * * * * *", quick)
		c.SleepTo(11 * time.Second)
		a.links.Cut()
		p.links.Cut(2)
		c.must(p.Pause(t.Context(), "job"))
		c.SleepTo(21 * time.Second)
		b.links.Delay(50*time.Millisecond, 2)
		b.campaign()
		b.leads()
		c.SleepTo(5 * time.Minute)
		if runs := c.records(); len(runs) != 1 || !b.status("job").Paused {
			t.Errorf("ran %v, %+v", c.ran(), b.status("job"))
		}
	})
}
