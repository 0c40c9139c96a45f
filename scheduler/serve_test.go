package scheduler_test

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The nodes are new. Serve says at once what it waits for, and every few seconds. It runs the job, and when it is told to stop, it
// lets the run finish and leaves nothing behind.
func TestServe(t *testing.T) {
	logged := logsOfSlog(t)
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		locker, _ := c.Locker()
		ctx, cancel := context.WithCancel(t.Context())
		finished := false
		job := scheduler.Job{Name: "job", Spec: "* * * * *", Run: func(run context.Context, _ scheduler.Run) error {
			cancel()
			time.Sleep(3 * time.Second)
			finished = true
			return nil
		}}
		err := scheduler.ServeOn(ctx, locker, "x", scheduler.Options{Election: []election.Option{election.WithIdentity("pod-1", "")}}, job)
		want.NoError(t, err)
		want.Err(t, locker.Ready(t.Context()), redlock.ErrClosed)
		if n := strings.Count(logged.String(), "not ready yet: nodes grant nothing for a while, waiting"); !finished || n < 3 {
			t.Errorf("finished: %v; waiting is logged %d times", finished, n)
		}
		want.Parts(t, "the log", logged.String(), "another 10s", "waited=400ms", "waited=3.4", "this replica leads", "candidate=pod-1", "handed leadership over")
	})
}

// idle has no tick within a test.
var idle = scheduler.Job{Name: "idle", Spec: "@yearly", Run: func(context.Context, scheduler.Run) error { return nil }}

// A service may only lead.
func TestServe_NeedsNoJobForACallback(t *testing.T) {
	logsOfSlog(t)
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		locker, _ := c.Locker()
		ctx, cancel := context.WithCancel(t.Context())
		leads := election.OnLeader(func(context.Context) { cancel() })
		want.NoError(t, scheduler.ServeOn(ctx, locker, "x", scheduler.Options{Election: []election.Option{leads}}))
	})
}

// logsOfSlog returns what is logged to slog's default until the end of the test, which must not be parallel to others.
func logsOfSlog(t *testing.T) *bytes.Buffer {
	t.Helper()
	var logged bytes.Buffer
	before, out, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(out)
		log.SetFlags(flags)
	})
	return &logged
}

func TestServe_RefusesBadInput(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	good := scheduler.Job{Name: "job", Spec: "@daily", Run: func(context.Context, scheduler.Run) error { return nil }}
	for says, call := range map[string]struct {
		urls []string
		name string
		work []scheduler.Work
	}{
		"even":     {[]string{"a:1", "b:1"}, "x", []scheduler.Work{good}},
		"empty":    {[]string{"127.0.0.1:1"}, "", []scheduler.Work{good}},
		"bad spec": {[]string{"127.0.0.1:1"}, "x", []scheduler.Work{good, scheduler.Job{Name: "b", Spec: "x", Run: good.Run}}},
		"ttl 1ns":  {[]string{"127.0.0.1:1"}, "x", []scheduler.Work{scheduler.Options{Lock: []redlock.Option{redlock.WithTTL(1)}}}},
		"to run":   {[]string{"127.0.0.1:1"}, "x", []scheduler.Work{scheduler.Options{Election: []election.Option{election.WithIdentity("a", "")}}}},
		"is nil":   {[]string{"127.0.0.1:1"}, "x", []scheduler.Work{nil}},
	} {
		want.Text(t, scheduler.Serve(stopped, call.urls, call.name, call.work...), says)
	}
}

// A follower says that it stops. A leader hands over, and says no more.
func TestServe_SaysThatItStops(t *testing.T) {
	logged := logsOfSlog(t)
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		serve := func(id string) (stop func()) {
			locker, _ := c.Locker()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { // until stop
				ended <- scheduler.ServeOn(ctx, locker, "x", idle, scheduler.Options{Election: []election.Option{election.WithIdentity(id, "")}})
			}()
			time.Sleep(time.Minute)
			return func() {
				cancel()
				want.NoError(t, <-ended)
			}
		}
		for _, stop := range []func(){serve("first"), serve("second"), serve("third")} {
			stop()
			time.Sleep(time.Minute)
		}
		fourth, fifth := serve("fourth"), serve("fifth")
		fifth()
		fourth()
		const says = "stopped, this replica was not leading\" election=x candidate="
		if n := strings.Count(logged.String(), says); n != 1 || !strings.Contains(logged.String(), says+"fifth") {
			t.Errorf("said %d times:\n%s", n, logged)
		}
	})
}

// No node answers. Serve goes on until it is told to stop.
func TestServe_OutlivesAnOutage(t *testing.T) {
	logged := logsOfSlog(t)
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		locker, links := c.Locker()
		links.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want.NoError(t, scheduler.ServeOn(ctx, locker, "x", idle))
		if n := strings.Count(logged.String(), "not ready yet: too few nodes grant locks, retrying"); n < 15 {
			t.Errorf("logged %d times", n)
		}
	})
}

// Only a person can give a replica the right password. Serve says so as an error, and goes on when it has it.
func TestServe_SaysThatTheNodesRefuseIt(t *testing.T) {
	logged := logsOfSlog(t)
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		locker, _ := c.Locker()
		require := func(password string) {
			for i := range 3 {
				c.Node(i).RequireAuth(password)
			}
		}
		require("secret")
		time.AfterFunc(time.Minute, func() { require("") })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		want.NoError(t, scheduler.ServeOn(ctx, locker, "x", idle))
		want.Parts(t, "the log", logged.String(), "level=ERROR msg=\"the nodes refuse this replica, retrying\" election=x waited=400ms", "this replica leads")
		if strings.Contains(logged.String(), "not ready yet") {
			t.Errorf("it also says that the nodes are not ready yet:\n%s", logged.String())
		}
	})
}

// A run stops Serve, and waits for it. Serve does not wait for the run for longer than the drain timeout and the stop margin.
func TestServe_DoesNotWaitForItsOwnCaller(t *testing.T) {
	logsOfSlog(t)
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		locker, _ := c.Locker()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan struct{})
		var stopped time.Time
		job := scheduler.Job{Name: "job", Spec: "* * * * *", Run: func(context.Context, scheduler.Run) error {
			stopped = time.Now()
			stop()
			<-served
			return nil
		}}
		want.Err(t, scheduler.ServeOn(ctx, locker, "x", job), election.ErrUndrained)
		if took := time.Since(stopped); took > drainTimeout+margin {
			t.Errorf("took %v", took)
		}
		close(served)
		time.Sleep(time.Minute) // for the run, and for the end of it that cannot be stored any more
	})
}

func TestServe_RefusesNilPointers(t *testing.T) {
	for _, w := range []scheduler.Work{(*scheduler.Job)(nil), (*scheduler.Source)(nil), (*scheduler.Options)(nil)} {
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%T: %v", w, v)
				}
			}()
			want.Text(t, scheduler.Serve(t.Context(), []string{"127.0.0.1:1"}, "x", w), "is nil")
		}()
	}
}

// The error of a job that is there twice names the line of the caller, not one of this library.
func TestServe_NamesTheLineOfItsCaller(t *testing.T) {
	job := scheduler.Job{Name: "twice", Spec: "@daily", Run: func(context.Context, scheduler.Run) error { return nil }}
	err := scheduler.Serve(t.Context(), []string{"127.0.0.1:1"}, "x", job, job)
	want.Text(t, err, "serve_test.go:")
	if strings.Contains(err.Error(), "serve.go:") {
		t.Errorf("it names this library: %v", err)
	}
}
