package scheduler_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// A node could not promise for a job that was added, and has forgotten nothing: all else that it has promised stands.
func TestPromise_AnewOnlyOfTheJobThatANodeDoesNotKnow(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		for i := range 100 {
			a.add(a.job(fmt.Sprint("yearly ", i), "@yearly", quick))
		}
		c.SleepTo(10 * time.Second)
		c.SetPreHook(0, func(p *server.Peer, command string, args ...string) bool {
			late := isAbout("late", command, args)
			if late {
				p.WriteError(noMemory)
			}
			return late
		})
		a.add(a.job("late", "*/30 * * * * *", quick))
		c.SleepTo(29 * time.Second)
		a.links.Cut(2) // now the node's vote is needed
		c.SleepTo(29*time.Second + 950*time.Millisecond)
		var mu sync.Mutex
		keys := 0 // of the call with most of them
		c.SetPreHook(0, func(_ *server.Peer, command string, args ...string) bool {
			if command == "EVALSHA" {
				n, _ := strconv.Atoi(args[1])
				mu.Lock()
				keys = max(keys, n)
				mu.Unlock()
			}
			return false
		})
		c.SleepTo(2*time.Minute + time.Second)
		c.SetPreHook(0, nil)
		if runs := c.ran(); len(runs) == 0 || runs[len(runs)-1] != "late 2m0s@2m0s" {
			t.Errorf("ran %v", runs)
		}
		mu.Lock()
		defer mu.Unlock()
		if keys == 0 || keys > 5 {
			t.Errorf("a call had %d keys: those of one job are 5 at most", keys)
		}
	})
}

// A claim finds that a node does not know a job, while the nodes are asked to promise for another one.
func TestPromise_AnewOfAJobThatAClaimFoundUnknownMeanwhile(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		c.SleepTo(10 * time.Second)
		c.SetPreHook(0, func(p *server.Peer, command string, args ...string) bool {
			promise := isAbout("late", command, args) && slices.Contains(args, "{redlock}:jobs:x")
			if promise {
				p.WriteError(noMemory)
			}
			return promise
		})
		a.add(a.job("late", "*/30 * * * * *", quick))
		c.SleepTo(29 * time.Second)
		a.links.Cut(2) // now the vote of the other node is needed
		c.SleepTo(30*time.Second + 50*time.Millisecond)
		for node := range 2 {
			c.SetPreHook(node, func(_ *server.Peer, command string, args ...string) bool {
				if isAbout("other", command, args) {
					time.Sleep(150 * time.Millisecond)
				}
				return false
			})
		}
		c.SleepTo(30*time.Second + 100*time.Millisecond) // the claim ends by 199 ms, the timeout of the node that is away
		a.add(a.job("other", "@yearly", quick))          // the promise at 250 ms
		c.SleepTo(time.Minute + 5*time.Second)           // the claim is asked again each second
		if runs := c.ran(); len(runs) != 1 || !strings.HasPrefix(runs[0], "late 1m0s@") {
			t.Errorf("ran %v", runs)
		}
	})
}

// Each trigger wakes the leader, sooner than it asks the nodes again.
func TestPromise_IsAskedForAgainThoughTheLeaderIsWokenOften(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(10 * time.Second)
		c.SetPreHook(0, fullFor("other"))
		c.SetPreHook(1, fullFor("other"))
		a.add(a.job("other", "* * * * * *", quick))
		for i := range 75 {
			if i == 10 {
				c.SetPreHook(0, nil)
				c.SetPreHook(1, nil)
			}
			if err := b.Trigger(t.Context(), "job"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Millisecond)
		}
		if !slices.Contains(c.ran(), "other 12s@12s") {
			t.Errorf("ran %v", c.ran())
		}
	})
}

// A node that was away when the leader began is asked again long before its vote is needed.
func TestPromise_OfANodeThatWasAwayIsAskedForWhenItIsBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.idle("a")
		a.links.Cut(0)
		a.add(a.job("new", "0 * * * * *", quick))
		a.campaign()
		c.SleepTo(10 * time.Second)
		a.links.Heal()
		c.SleepTo(30 * time.Second)
		a.links.Cut(2)
		c.SleepTo(65 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"new 1m0s@1m0s"})
	})
}

// isAbout tells whether a command is a script that has to do with a job.
func isAbout(job, command string, args []string) bool {
	return command == "EVALSHA" && slices.Contains(args, "{redlock}:job:x:"+job)
}

const noMemory = "OOM command not allowed when used memory > 'maxmemory'."

// fullFor has a node refuse what has to do with a job, as one without memory left does.
func fullFor(job string) server.Hook {
	return func(p *server.Peer, command string, args ...string) bool {
		full := isAbout(job, command, args)
		if full {
			p.WriteError(noMemory)
		}
		return full
	}
}
