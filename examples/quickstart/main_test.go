package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// silent prints nothing.
var silent = log.New(io.Discard, "", 0)

// settled is how long go-redis keeps dialing in the background after its clients were closed.
const settled = 2 * time.Second

// The whole program, in virtual time.
func TestQuickstart_KeepsWhatItPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(settled)
		var out bytes.Buffer
		start := time.Now()
		seen, err := run(t.Context(), log.New(&out, "", 0), "")
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		if all := slices.Sorted(slices.Values(seen.leaders)); !slices.Equal(all, []string{"pod-1", "pod-2", "pod-3"}) {
			t.Errorf("%v led, expected each replica once", seen.leaders)
		}
		if seen.ticks != 14 || seen.ran != seen.ticks {
			t.Errorf("%d of %d ticks ran: %v", seen.ran, seen.ticks, seen.notRun)
		}
		if seen.late < 1 || seen.late > 3 {
			t.Errorf("%d ticks ran late, expected those that came while nobody led", seen.late)
		}
		if c := seen.crash; c.from != seen.leaders[0] || c.to != seen.leaders[1] || c.gap < ttl/5 || c.took > ttl+100*time.Millisecond {
			t.Errorf("after the cut: %+v", c)
		}
		if c := seen.deploy; c.from != seen.leaders[1] || c.to != seen.leaders[2] || !c.finished || c.gap > 100*time.Millisecond {
			t.Errorf("after the stop: %+v", c)
		}
		if printed := strings.Count(out.String(), "runs tick"); printed != seen.ticks {
			t.Errorf("%d runs were printed, and %d ticks counted", printed, seen.ticks)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 || strings.TrimRight(line, " ") != line {
				t.Errorf("wider than 80 columns, or with spaces at its end: %q", line)
			}
		}
	})
}

// Replicas that do not share their nodes lead at the same time, and run the same ticks.
func TestQuickstart_FailsWithTwoLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(settled)
		shared, other := redlocktest.New(t, 3), redlocktest.New(t, 3)
		replicas := 0
		clients := func() []redis.UniversalClient {
			if replicas++; replicas == 3 {
				return other.Process().Clients()
			}
			return shared.Process().Clients()
		}
		seen, err := play(t.Context(), silent, redlockfx.Config{Name: "test"}, clients)
		if err == nil || !strings.Contains(err.Error(), "two leaders at a time") || len(seen.atOnce) == 0 {
			t.Errorf("%v; expected two leaders at a time", err)
		}
		if len(seen.twice) == 0 || !strings.Contains(err.Error(), "ran more than once") {
			t.Errorf("%v; expected ticks that ran more than once", err)
		}
	})
}

func TestQuickstart_FailsIfNobodyLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(settled)
		nodes := redlocktest.New(t, 3)
		nodes.Cut()
		config := redlockfx.Config{Name: "test", TTL: ttl}
		_, err := play(t.Context(), silent, config, func() []redis.UniversalClient { return nodes.Process().Clients() })
		if err == nil || !strings.Contains(err.Error(), "no replica led") {
			t.Errorf("%v; expected that nobody led", err)
		}
	})
}

func TestQuickstart_FailsIfTheDeployCutsARunShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(settled)
		nodes := redlocktest.New(t, 3)
		config := redlockfx.Config{Name: "test", TTL: ttl, DrainTimeout: work / 10}
		seen, err := play(t.Context(), silent, config, func() []redis.UniversalClient { return nodes.Process().Clients() })
		if err == nil || !strings.Contains(err.Error(), "did not finish its run") || !seen.deploy.cutShort {
			t.Errorf("%v; expected a run that was cut short", err)
		}
	})
}

func TestQuickstart_EndsWhenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(settled)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		seen, err := run(ctx, silent, "")
		if err == nil || err.Error() != "interrupted" {
			t.Errorf("got %v", err)
		}
		if len(seen.leaders) == 0 || seen.ran == 0 {
			t.Errorf("%+v: nothing was seen until then", seen)
		}
	})
}

func TestFacts_AccountForEachTick(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tick := func(n int) time.Time { return first.Add(time.Duration(n) * every) }
	run := func(who string, n int) []event {
		return []event{{who: who, what: began, tick: tick(n)}, {who: who, what: ended, tick: tick(n)}}
	}
	led := func(who string) []event { return []event{{who: who, what: leads}} }
	gone := func(who string) []event { return []event{{who: who, what: stopped}} }
	did := func(who string, what kind) []event { return []event{{who: who, what: what, tick: tick(0)}} }
	missed := scheduler.Record{Run: scheduler.Run{Tick: tick(2)}, From: tick(1), Ticks: 2, State: scheduler.StateMissed, Err: "too late"}

	for name, test := range map[string]struct {
		events  [][]event
		history []scheduler.Record
		broken  string // part of the error; empty if no promise is broken
		notRun  int
	}{
		"all ran":           {events: [][]event{led("a"), run("a", 0), run("a", 1), gone("a"), led("b"), run("b", 2)}},
		"ran twice":         {events: [][]event{led("a"), run("a", 0), gone("a"), led("b"), run("b", 0)}, broken: "more than once"},
		"led at once":       {events: [][]event{led("a"), led("b")}, broken: "b led beside a"},
		"led during a run":  {events: [][]event{led("a"), did("a", began), gone("a"), led("b")}, broken: "b led beside a"},
		"unaccounted":       {events: [][]event{run("a", 0), run("a", 2)}, broken: "no record of why"},
		"unaccounted, some": {events: [][]event{run("a", 0), run("a", 4)}, history: []scheduler.Record{missed}, notRun: 2, broken: "no record of why"},
		"missed":            {events: [][]event{run("a", 0), run("a", 3)}, history: []scheduler.Record{missed}, notRun: 2},
		"no end of a run":   {events: [][]event{did("a", began)}, broken: "no record of why"},
		"run not finished": {
			events: [][]event{led("a"), did("a", began), did("a", stopping), did("a", cutShort), gone("a"), led("b"), run("b", 0)},
			broken: "did not finish its run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := sumUp(slices.Concat(test.events...), test.history)
			err := seen.check()
			if test.broken == "" && err != nil || test.broken != "" && (err == nil || !strings.Contains(err.Error(), test.broken)) {
				t.Errorf("got %v, expected %q", err, test.broken)
			}
			if len(seen.notRun) != test.notRun {
				t.Errorf("did not run: %q, expected %d", seen.notRun, test.notRun)
			}
		})
	}
}

func TestOpenNodes_RemovesItsKeysOnly(t *testing.T) {
	server := miniredis.RunT(t)
	nodes, err := openNodes(t.Context(), silent, "redis://"+server.Addr(), redlockfx.Config{KeyPrefix: "quickstart-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"{quickstart-1}", "{quickstart-1}:jobs:x", "{quickstart-11}", "mine"} {
		if err := server.Set(key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := nodes.close(); err != nil {
		t.Error(err)
	}
	if keys := server.Keys(); !slices.Equal(keys, []string{"mine", "{quickstart-11}"}) {
		t.Errorf("left: %q", keys)
	}
}
