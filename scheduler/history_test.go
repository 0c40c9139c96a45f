package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// A write reaches only one node and is repeated. The history then has its rows several times, with several outcomes of one tick.
func TestHistory_HasEachTickOnceWhateverWritesFailed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "*/10 * * * * *", lasting(15*time.Second)))
		c.SleepTo(19900 * time.Millisecond)
		for _, node := range []int{1, 2} { // for half a second, only one node stores writes of the job
			c.SetPreHook(node, func(p *server.Peer, command string, args ...string) bool {
				refuses := isAbout("job", command, args)
				if refuses {
					p.WriteError(noMemory)
				}
				return refuses
			})
		}
		c.SleepTo(20500 * time.Millisecond)
		c.SetPreHook(1, nil)
		c.SetPreHook(2, nil)
		c.SleepTo(25 * time.Second)
		b.links.Hang(1) // so that b asks the node that stored all of them
		history, err := b.History(t.Context(), "job", 50)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, r := range history {
			if c.at(r.Tick) == "20s" {
				rows = append(rows, fmt.Sprint(r.State, " at ", c.at(r.Start)))
			}
		}
		if len(rows) != 1 {
			t.Errorf("the tick of 20s has %d rows: %v", len(rows), rows)
		}
	})
}

// The ticks that come during a run are one row, so a run that hangs does not push what came before it out of the history.
func TestHistory_OfARunThatHangsHasWhatCameBeforeIt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", func(_ context.Context, call int) error {
			if call == 30 {
				time.Sleep(170500 * time.Millisecond)
			}
			return errBoom
		}))
		wantRows := func(until time.Duration, want ...string) {
			t.Helper()
			c.SleepTo(until)
			history, err := a.History(t.Context(), "job", len(want))
			c.must(err)
			var rows []string
			for _, r := range history {
				rows = append(rows, fmt.Sprintf("%s %s %d", r.State, c.at(r.Tick), r.Ticks))
			}
			if !slices.Equal(rows, want) {
				t.Errorf("after %v: %v, want %v", until, rows, want)
			}
		}
		wantRows(31500*time.Millisecond, "running 30s 0", "skipped 31s 0", "failed 29s 0")
		wantRows(200300*time.Millisecond, "running 30s 0", "skipped 3m20s 170", "failed 29s 0", "failed 28s 0")
		wantRows(201300*time.Millisecond, "failed 3m21s 0", "failed 30s 0", "skipped 3m20s 170", "failed 29s 0")
	})
}
