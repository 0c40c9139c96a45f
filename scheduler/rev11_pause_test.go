package scheduler_test

import (
	"testing"
	"time"
)

// A node that has not heard of a pause and one that has lost the job's key are all that answers. The leader knows of it.
func TestPause_IsNotForgottenByTheLeader(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@every 10s", quick))
		b.status("job")
		c.sleepTo(15 * time.Second)
		b.process.Cut(0)
		if err := b.Pause(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.sleepTo(25 * time.Second)
		b.process.Heal()
		c.Kill(1)
		c.Node(2).Del("{redlock}:job:x:job")
		c.sleepTo(50 * time.Second)
		for range 3 {
			_ = b.Trigger(t.Context(), "job")
			time.Sleep(5 * time.Second)
		}
		c.sleepTo(90 * time.Second)
		for _, run := range c.records() {
			if !run.Manual && run.Tick.Sub(c.start) > 15*time.Second {
				t.Errorf("ran %v, paused at 15s", c.ran())
				break
			}
		}
		t.Log(a.leads().Token(), c.ran())
	})
}
