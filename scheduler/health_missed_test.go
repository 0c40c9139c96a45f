package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// Two nodes refuse to list the requests, so nothing starts. No restart helps with that, and the nodes are named.
func TestProblems_NodesThatDoNotListRequests(t *testing.T) {
	inBubbleOf(t, 3, time.Minute, func(t *testing.T, c *cluster) {
		a := c.idle("a")
		a.add(a.job("other", "*/10 * * * * *", quick))
		for node := range 2 {
			c.Node(node).Del("{redlock}:requests:x")
			_ = c.Node(node).Set("{redlock}:requests:x", "not a hash")
		}
		a.takesOver()
		time.Sleep(15 * time.Minute)
		if len(c.records()) > 0 {
			t.Fatal("the job ran")
		}
		err := a.elector.Check()
		want.Text(t, err, "WRONGTYPE")
		if errors.Is(err, election.ErrRestart) {
			t.Errorf("a restart helps: %v", err)
		}
	})
}

// The nodes serve no leader, and each term is shorter than a minute.
func TestProblems_OfShortTerms(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.ErrorLevel)
		c.opts = []election.Option{election.WithMaxTenure(50 * time.Second), election.WithLogger(zap.New(core))}
		a := c.idle("a")
		a.add(a.job("other", "*/10 * * * * *", quick))
		c.breakJobs()
		a.takesOver()
		failed := 0
		for range 15 {
			time.Sleep(time.Minute)
			if a.elector.Check() != nil {
				failed++
			}
		}
		if n := logs.FilterMessage(problemLine).Len(); failed == 0 || n == 0 {
			t.Errorf("%d runs; in a quarter of an hour, Check failed in %d of 15 minutes, and it is logged %d times", len(c.records()), failed, n)
		}
	})
}

// One of many jobs has no ticks any more.
func TestProblems_OfOneOfManyJobs(t *testing.T) {
	long(t)
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		c.opts = []election.Option{election.WithLogger(zap.New(core))}
		a := c.idle("a")
		broken := a.job("broken", "mine", quick)
		from := time.Now().Add(5 * time.Minute)
		broken.Schedule = nextFunc(func(after time.Time) time.Time {
			if time.Now().After(from) {
				panic("no")
			}
			return after.Truncate(time.Minute).Add(time.Minute)
		})
		a.add(broken)
		for i := range 15_000 {
			a.add(a.job(fmt.Sprintf("job-%05d", i), "@yearly", quick))
		}
		a.takesOver()
		time.Sleep(10 * time.Minute)
		silent := 0
		for range 20 {
			time.Sleep(time.Minute)
			if a.elector.Check() == nil {
				silent++
			}
		}
		if n := logs.FilterMessage("no problems any more").Len(); silent > 0 || n > 0 {
			t.Errorf("Check was nil in %d of 20 minutes, and %d times the log says that there are no problems any more", silent, n)
		}
	})
}
