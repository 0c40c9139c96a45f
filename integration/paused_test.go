//go:build unix

package integration_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
)

func TestPausedJob_StaysPausedOverRestartsOfNodes(t *testing.T) {
	oneOfMany(t)
	cases := beside{t: t}
	defer cases.Wait()
	for _, test := range []struct {
		restarted int
		handover  bool
	}{{1, false}, {3, false}, {3, true}} {
		cases.run(fmt.Sprintf("%d of 3, then another leader %v", test.restarted, test.handover),
			func(t *testing.T) { stayPaused(t, test.restarted, test.handover) })
	}
}

func stayPaused(t *testing.T, restarted int, handover bool) {
	c := startTicking(t, 0, eachTick())
	s := c.observe()
	leader := c.justRan()
	must(c.t, s.Pause(t.Context(), jobName))
	paused := time.Now()
	for i := range restarted {
		must(c.t, c.nodes.Node(i).Kill(), c.nodes.Node(i).Restart(t.Context()))
		c.granted() // MaxTTL later
	}
	since := shared.now()
	if handover {
		c.replicas[leader.Replica].signal(syscall.SIGTERM)
		c.restart(c.replicas[leader.Replica])
		c.next(since)
	}
	c.await("some time without a run", func(e integration.Event) bool {
		if e.Kind == integration.RunBegin && e.Tick.After(paused) {
			t.Fatalf("it was paused at %v, and ran: %+v", paused, e)
		}
		return e.Kind == integration.Sample && e.At > since+3*tickEvery
	})

	<-time.After(time.Until(time.Now().Truncate(tickEvery).Add(3 * tickEvery / 2))) // between two ticks
	var err error
	defer func() {
		if err != nil {
			t.Errorf("it was never resumed: %v", err)
		}
	}()
	poll(t, "resume", func() bool { err = s.Resume(t.Context(), jobName); return err == nil })
	resumed := time.Now()
	c.ticks(3)

	but := make(map[time.Time]int)
	for tick := paused.Truncate(tickEvery).Add(tickEvery); tick.Before(resumed); tick = tick.Add(tickEvery) {
		but[tick.UTC()] = 0
	}
	c.wantEachTick(but)
}
