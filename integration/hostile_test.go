//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/hostile"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// One node of five is hostile. Whatever it answers, the others continue, and errors name it with a reason. The library
// does not ask it without a pause, and no answer costs much.
//
// The test does not run in parallel, because its traffic would slow other tests down.
func TestHostileNode_TheOthersGoOn(t *testing.T) {
	nodes := startServers(t, 5) // the first one makes the list with the others, and a hostile one takes its place
	answers := hostile.Answers()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	places := make(chan struct{}, 16) // limits the cases at a time
	cases := beside{t: t}
	for i, name := range slices.Sorted(maps.Keys(answers)) {
		cases.run(name, func(t *testing.T) {
			places <- struct{}{}
			defer func() { <-places }()
			besideHostile(t, fmt.Sprint("hostile", i), nodes.Addrs(), hostile.Start(t, answers[name]))
		})
	}
	cases.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 1<<30 {
		t.Errorf("the process has grown by %d MB", grown>>20)
	}
}

func besideHostile(t *testing.T, prefix string, nodes []string, bad *hostile.Server) {
	const lasts = 2 * time.Second
	open := func(addrs []string) *redlock.Locker {
		l, err := redlock.Open(addrs, redlock.WithKeyPrefix(prefix), redlock.WithTTL(4*longTimeout), redlock.WithNodeTimeout(longTimeout))
		must(t, err)
		return l
	}
	first, servers := open(nodes), admins(t, nodes)
	poll(t, "guard on all nodes", func() bool {
		_, _ = first.TryAcquire(t.Context(), "first") // the first call starts the guard, and is refused
		return !slices.ContainsFunc(servers, func(s *redis.Client) bool { return !records.Prefix(prefix).Guarded(t, s) })
	})
	must(t, first.Close(t.Context()))
	for _, server := range servers {
		records.Prefix(prefix).Age(t, server)
	}
	l := open(append([]string{bad.Addr}, nodes[1:]...))
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), longTimeout/4)
		defer cancel()
		_ = l.Close(ctx) // the error names the node that does not report its records
	}()
	e, err := election.New(l, "election")
	must(t, err)
	s, err := scheduler.New(e)
	must(t, err)
	var ran atomic.Int64
	must(t, s.Add(scheduler.Job{Name: "job", Spec: "* * * * * *", Run: func(context.Context, scheduler.Run) error {
		ran.Add(1)
		return nil
	}}))
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { // ends with stop
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	poll(t, "run", func() bool { return ran.Load() > 0 })

	asked, began, had := bad.Asked.Load()+bad.Dials.Load(), time.Now(), ran.Load()
	locks := 0
	for time.Since(began) < lasts {
		err := l.Do(t.Context(), "lock", func(context.Context, *redlock.Lease) error { return nil })
		must(t, err)
		locks++
		wait(t, 200*time.Millisecond)
	}
	took := time.Since(began)
	if got, due := ran.Load()-had, int64(took/time.Second); got < due-1 || got > due+2 {
		t.Errorf("%d ticks ran in %v", got, took)
	}
	if each := float64(bad.Asked.Load()+bad.Dials.Load()-asked) / took.Seconds(); each > 500 { // a loop without pause asks thousands of times
		t.Errorf("it was asked, and dialled, %.0f times a second, for %d locks", each, locks)
	}
	if n := l.Nodes(t.Context())[0]; n.Err == nil {
		t.Errorf("it passes for a node: %+v", n)
	} else if strings.ContainsAny(n.Err.Error(), "\x1b\a\r\u202e") {
		t.Errorf("its words are repeated as they are: %q", n.Err)
	}
	_, err = s.Jobs(t.Context())
	must(t, err)
	stop()
	work.Wait()
}

// wait waits for d while the tested calls continue.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
