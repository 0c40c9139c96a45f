package scheduler_test

import (
	"fmt"
	"testing"
	"time"
)

// The caller cannot reach one node, and another one is far. The leader gets notices from two nodes only, and learns of the
// setting from the first.
func TestAsked_WhileItReachesOneNodeAfterTheOther(t *testing.T) {
	for _, what := range []string{"trigger", "resume"} {
		for cut := range 3 {
			for slow := range 3 {
				if cut == slow {
					continue
				}
				t.Run(fmt.Sprint(what, " cut ", cut, " slow ", slow), func(t *testing.T) {
					inBubble(t, 3, func(t *testing.T, c *cluster) {
						c.ttl = 90 * time.Second
						a, p := c.leader("a"), c.idle("p")
						spec := "@every 24h"
						if what == "resume" {
							spec = "* * * * * *"
						}
						a.add(a.job("job", spec, quick))
						if what == "resume" {
							if err := a.Pause(t.Context(), "job"); err != nil {
								t.Fatal(err)
							}
						}
						c.SleepTo(31 * time.Second)
						before := len(c.records())
						p.links.Cut(cut)
						p.links.Delay(5*time.Millisecond, slow)
						a.links.Delay(time.Millisecond, 3-cut-slow) // so that the other nodes answer before the one that has it
						var err error
						if what == "resume" {
							err = p.Resume(t.Context(), "job")
						} else {
							err = p.Trigger(t.Context(), "job")
						}
						if err != nil {
							t.Fatal(err)
						}
						at := time.Now()
						for len(c.records()) == before && time.Since(at) < 10*time.Minute {
							time.Sleep(10 * time.Millisecond)
						}
						if d := time.Since(at); d > 2*time.Second {
							t.Errorf("it took %v", d)
						}
					})
				})
			}
		}
	}
}

// A node that publishes without end makes the leader poll at most a hundred times a second.
func TestAsked_ANodeThatPublishesWithoutEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@hourly", quick))
		c.SleepTo(30 * time.Second)
		before := c.Requests(0)
		for time.Since(c.Start) < 40*time.Second {
			c.Node(2).Publish(hash, "p x")
			time.Sleep(time.Millisecond)
		}
		if n := c.Requests(0) - before; n > 1500 {
			t.Errorf("%d requests to node 0 in 10 s", n)
		}
	})
}

// A node has a newer setting of a job, which is then forgotten: the leader stops reading it.
func TestAsked_AJobThatIsForgottenIsNotReadAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@hourly", quick))
		requests := func() int {
			before := c.Requests(1)
			time.Sleep(10 * time.Minute)
			return c.Requests(1) - before
		}
		c.SleepTo(30 * time.Second)
		common := requests()
		c.lie(0, "p", time.Now())
		time.Sleep(10 * time.Millisecond)
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if err := a.Forget(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := requests(); n > common+common/10 {
			t.Errorf("%d requests in ten minutes, %d before", n, common)
		}
	})
}
