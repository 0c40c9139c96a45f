package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const hash, requests = "{redlock}:jobs:x", "{redlock}:requests:x"

// lie makes one node claim that somebody made a setting, in the form of a real one: p is a pause, t a trigger.
func (c *cluster) lie(node int, kind string, at time.Time) {
	setting := fmt.Sprintf("%016dffffff,1,nobody,nowhere", at.UnixMicro())
	c.Node(node).HSet(requests, kind+":job", setting)
	c.Node(node).Publish(hash, kind+" "+setting)
}

// That holds for each node, whichever answers last.
func TestMinority_NothingThatOneNodeHasSetIsApplied(t *testing.T) {
	for node := range 3 {
		slow := (node + 1) % 3
		t.Run(fmt.Sprint("node ", node, ", node ", slow, " is slow"), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				b := c.replica("b")
				for _, r := range []*replica{a, b} {
					r.links.Delay(5*time.Millisecond, slow)
					r.add(r.job("job", "* * * * * *", quick))
				}
				c.SleepTo(10500 * time.Millisecond)
				c.lie(node, "p", time.Now())
				c.lie(node, "t", time.Now())
				c.SleepTo(20500 * time.Millisecond)
				a.leaves() // the next leader ignores it too
				c.lie(node, "p", time.Now())
				c.SleepTo(40500 * time.Millisecond)
				ticks := make(map[int64]bool)
				for _, run := range c.records() {
					if run.Manual {
						t.Errorf("it was triggered at %v", c.at(run.Tick))
					}
					ticks[run.Tick.Unix()] = true
				}
				for second := int64(11); second <= 20; second++ {
					if !ticks[c.Start.Unix()+second] {
						t.Errorf("nothing ran at %d s", second)
					}
				}
				if !ticks[c.Start.Unix()+40] {
					t.Error("the next leader does not run it")
				}
			})
		})
	}
}

// A setting that one node claims is from before the other nodes lost their data is ignored too: a leader has read them since, and
// there was no setting.
func TestMinority_NothingIsAppliedThatTheOthersAreTooYoungFor(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.replica("b")
		addBoth(a, b, "* * * * * *", quick)
		c.SleepTo(10500 * time.Millisecond)
		before := time.Now()
		for other := range 3 {
			if other != 2 {
				c.Wipe(other)
				time.Sleep(30 * time.Second)
			}
		}
		c.lie(2, "p", before)
		c.SleepTo(100500 * time.Millisecond)
		a.leaves()
		b.leads()
		c.SleepTo(150500 * time.Millisecond)
		if s, err := b.Status(t.Context(), "job"); err != nil || s.Paused {
			t.Errorf("%+v, %v", s, err)
		}
		if runs := c.records(); !runs[len(runs)-1].Tick.Equal(c.Start.Add(150 * time.Second)) {
			t.Errorf("the last run was for %v", c.at(runs[len(runs)-1].Tick))
		}
	})
}

// A pause that two nodes of three have takes effect while the third one hangs. So does a pause that only one of the two answering
// nodes has.
func TestMinority_ASettingThatAMajorityMayHaveIsApplied(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(10500 * time.Millisecond)
		a.links.Hang(2)
		c.lie(0, "p", time.Now())
		c.SleepTo(20500 * time.Millisecond)
		if status, err := a.Status(t.Context(), "job"); err != nil || !status.Paused {
			t.Errorf("%+v, %v", status, err)
		}
		if runs := c.records(); runs[len(runs)-1].Tick.After(c.Start.Add(15 * time.Second)) {
			t.Error("it runs on")
		}
	})
}

// One node has an entry of the leader with a number that the leader has not used. The leader overwrites it.
func TestMinority_AnEntryThatNobodyHasWrittenIsWrittenAgain(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(10500 * time.Millisecond)
		entry := c.Node(2).HGet(hash, "job")
		c.Node(2).HSet(hash, "job", entry[:54]+"99999999"+entry[62:]+" missed=1000000")
		c.SleepTo(20500 * time.Millisecond)
		for n := range 3 {
			if entry := c.Node(n).HGet(hash, "job"); strings.Contains(entry, "missed=") || entry[28:] != c.Node(0).HGet(hash, "job")[28:] {
				t.Errorf("node %d has %s", n, entry)
			}
		}
		if runs := c.records(); !runs[len(runs)-1].Tick.Equal(c.Start.Add(20 * time.Second)) {
			t.Errorf("the last run was for %v", runs[len(runs)-1].Tick)
		}
	})
}
