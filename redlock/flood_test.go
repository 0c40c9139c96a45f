package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// inboxOn returns the channel of the process that waits on a node.
func inboxOn(c *bubble.Cluster, node int) (inbox string) {
	for _, channel := range c.Node(node).PubSubChannels("*") {
		if strings.Contains(channel, ":p:") {
			inbox = channel
		}
	}
	return inbox
}

// Somebody who may only publish sends a waiting process forged messages about other releases. The process asks no more
// often than allowed, and gets the lock as soon as the holder's lease has run out.
func TestAcquire_UnderAFloodOfMessages(t *testing.T) {
	for _, place := range []int{0, 1} {
		t.Run(fmt.Sprint("place ", place), func(t *testing.T) {
			bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				waiter, _ := c.Locker()
				mustAcquire(t, l, "x")
				ends := time.Now().Add(ttl)
				var waiting sync.WaitGroup
				var acquired time.Time
				waiting.Go(func() { // ends when it has the lock
					lease, err := waiter.Acquire(t.Context(), "x")
					acquired = time.Now()
					if err == nil {
						err = lease.Release(context.WithoutCancel(t.Context()))
					}
					if err != nil {
						t.Error(err)
					}
				})
				time.Sleep(ttl / 4)
				inbox := inboxOn(c, 0)
				before, began := c.Asked(), time.Now()
				for i := 0; time.Until(ends) > 0; i++ {
					c.Node(0).Publish(inbox, fmt.Sprintf("over %d 1 xid%d:1:", place, i))
					time.Sleep(time.Millisecond)
				}
				if asked, most := c.Asked()-before, 10+int(time.Since(began)/(5*time.Millisecond)); asked > most || asked < 2 {
					t.Errorf("it asked %d times in %v, %d is enough", asked, time.Since(began), most)
				}
				for i := 0; time.Since(ends) < ttl/20; i++ {
					c.Node(0).Publish(inbox, fmt.Sprintf("over %d 1 xid%d:2:", place, i))
					time.Sleep(time.Millisecond)
				}
				waiting.Wait()
				if late := acquired.Sub(ends); late > 100*time.Millisecond {
					t.Errorf("it has the lock %v after the lease of its holder", late)
				}
			})
		})
	}
}

// Nor does it make what watches a lock ask without a pause.
func TestOnHolder_UnderAFloodOfMessages(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		mustAcquire(t, l, "x")
		defer inside.Of(l).OnHolder("x", func(inside.Holder) {})()
		time.Sleep(100 * time.Millisecond)
		channels := c.Node(0).PubSubChannels("*")
		before := c.Asked()
		for range 500 {
			for _, channel := range channels {
				c.Node(0).Publish(channel, "over")
			}
			time.Sleep(time.Millisecond)
		}
		if asked := c.Asked() - before; asked > 60 || asked < 10 {
			t.Errorf("it asked %d times in half a second", asked)
		}
	})
}

// A process that waits for another lock asks nothing, and tells nobody.
func TestMessages_ThatNobodyWaitsForCauseNothing(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		waiter, _ := c.Locker()
		mustAcquire(t, l, "x")
		ctx, stop := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { _, _ = waiter.Acquire(ctx, "x") }) // ends with stop
		time.Sleep(ttl / 4)
		inbox, before := inboxOn(c, 0), c.Asked()
		for i := range 500 {
			c.Node(0).Publish(inbox, fmt.Sprintf("over 0 5 otherid%d:1:", i))
			synctest.Wait()
		}
		time.Sleep(time.Millisecond)
		if n := c.Asked() - before; n > 0 {
			t.Errorf("500 messages had it ask %d times", n)
		}
		stop()
		waiting.Wait()
	})
}

// Somebody who may only read and publish tells waiting processes that a hold has ended, although it has not. Nobody
// frees it: neither processes that wait for another lock, nor processes that give others a head start on this one, which forward
// the message at once.
func TestMessages_EndNoHold(t *testing.T) {
	for _, waitsFor := range []string{"x", "y"} {
		for _, place := range []int{0, 1, 2} {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				for _, name := range []string{"x", "y"} {
					mustAcquire(t, holder, name, redlock.WithAutoExtend(redlock.Extension{}))
				}
				waiter, _ := c.Locker()
				ctx, stop := context.WithCancel(t.Context())
				var waiting sync.WaitGroup
				waiting.Go(func() { _, _ = waiter.Acquire(ctx, waitsFor, redlock.WithHeadStart(time.Millisecond)) }) // ends with stop
				time.Sleep(ttl / 4)
				var holds []string
				for i, node := range c.Raw() {
					holds = append(holds, records.Default.Holder(t, "x", node))
					if inbox := inboxOn(c, i); inbox != "" {
						c.Node(i).Publish(inbox, fmt.Sprintf("over %d 1 x%s", place, holds[i]))
					}
				}
				time.Sleep(ttl / 4)
				stop()
				waiting.Wait()
				for i, node := range c.Raw() {
					if got := records.Default.Holder(t, "x", node); got != holds[i] {
						t.Errorf("place %d, to one who waits for %s: node %d has hold %q, had %q", place, waitsFor, i, got, holds[i])
					}
				}
			})
		}
	}
}
