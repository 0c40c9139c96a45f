package redlockfx_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The application comes up as a follower, leads when Redis is back, and stops without it.
func TestStart_AndStopDoNotWaitForRedis(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		k := &ticks{}
		log, lines := observed()
		app, links := c.app(redlockfx.Config{Name: "x"}, log,
			redlockfx.Job(func() scheduler.Job { return k.job("a") }))
		links.Cut()
		began := time.Now()
		app.RequireStart()
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
		time.Sleep(20 * time.Second)
		links.Heal()
		time.Sleep(5 * time.Second)
		if k.count() == 0 {
			t.Error("never led")
		}
		links.Cut()
		time.Sleep(time.Minute) // its lease has ended, and no attempt since has reached a node
		began = time.Now()
		app.RequireStop()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the stop took %v", took)
		}
		if lines.FilterMessageSnippet("may still have its locks").Len() != 0 {
			t.Errorf("logged %v", lines.All())
		}
	})
}

func TestStop_WorkThatDoesNotStopIsAbandoned(t *testing.T) {
	for name, test := range map[string]struct {
		config redlockfx.Config
		budget time.Duration
		within time.Duration
	}{
		"drain timeout": {redlockfx.Config{Name: "x", DrainTimeout: 3 * time.Second}, 15 * time.Second, 5 * time.Second},
		"stop timeout":  {redlockfx.Config{Name: "x", DrainTimeout: time.Hour}, 6 * time.Second, 6 * time.Second},
		"one ms":        {redlockfx.Config{Name: "x"}, time.Millisecond, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				free := make(chan struct{})
				log, lines := observed()
				app, _ := c.app(test.config, log,
					redlockfx.OnLeader(func(context.Context) { <-free }))
				app.RequireStart()
				time.Sleep(time.Second)

				ctx, cancel := context.WithTimeout(t.Context(), test.budget)
				defer cancel()
				began := time.Now()
				err := app.App.Stop(ctx)
				if err == nil || time.Since(began) > test.within {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				if test.budget >= time.Second && !errors.Is(err, election.ErrUndrained) {
					t.Errorf("got %v", err)
				}
				if c.held() < c.N {
					t.Error("released under running work")
				}
				warned := lines.FilterMessageSnippet("before the drain was over").All()
				if len(warned) != 1 {
					t.Fatalf("logged %v", lines.All())
				}
				says, _ := warned[0].ContextMap()["error"].(string)
				if test.budget >= time.Second && !regexp.MustCompile(`TestStop_WorkThatDoesNotStop\S* for \d`).MatchString(says) {
					t.Errorf("logged %q, want the callback's name and age", says)
				}
				close(free)
				time.Sleep(30 * time.Second)
			})
		})
	}
}

func TestStop_BeforeLeadingAndTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		k := &ticks{}
		job := redlockfx.Job(func() scheduler.Job { return k.job("a") })
		a, _ := c.app(redlockfx.Config{Name: "x"}, job)
		a.RequireStart()
		a.RequireStop() // at once: Run may not even have started
		b, _ := c.app(redlockfx.Config{Name: "x"}, job)
		b.RequireStart()
		time.Sleep(time.Second)
		d, _ := c.app(redlockfx.Config{Name: "x"}, job)
		d.RequireStart()
		time.Sleep(time.Second)
		d.RequireStop() // as a follower
		b.RequireStop()
		if err := b.App.Stop(t.Context()); err != nil {
			t.Errorf("the second stop: %v", err)
		}
		if n := c.held(); n > 0 {
			t.Errorf("%d nodes still have the lock", n)
		}
	})
}
