package redlockfx_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx/fxtest"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// service is an application with each kind of function that the library calls. One of them calls a method of the library, once.
type service struct {
	*fxtest.App
	links     *nodetest.Links
	locker    *redlock.Locker
	elector   *election.Elector
	scheduler *scheduler.Scheduler
	term      atomic.Pointer[election.Term] // the newest
	lease     atomic.Pointer[redlock.Lease] // of the function that calls, if it has one
	stops     chan func()                   // what OnNode and OnNewLeader have returned
	kept      chan context.Context          // of a function that has returned

	in     string // the function that calls the method
	method method
	called atomic.Bool
	ended  chan string // receives the outcome
}

const waitingTTL, waitingDrain = 10 * time.Second, 30 * time.Second

// at is called in each function. It calls the method if it is in the right one.
func (s *service) at(function string, ctx context.Context) {
	if function != s.in || s.called.Swap(true) {
		return
	}
	began := time.Now()
	err := s.method(ctx, s)
	took := time.Since(began)
	isError := errors.Is(err, caller.ErrSelf) || errors.Is(err, election.ErrRunning) ||
		errors.Is(err, context.Canceled) // fx prefers that error if a run stops the application, which ends the run's context
	switch {
	case isError && took < time.Second:
		s.ended <- "error"
	case !isError && took < waitingTTL/2:
		s.ended <- "works"
	case took <= 2*waitingDrain+waitingTTL:
		s.ended <- "late"
	default:
		s.ended <- "waits for itself, for " + took.String()
	}
}

// outcome returns what happens if the function calls the method.
func outcome(t *testing.T, method method, function string, begin func(s *service)) (outcome string) {
	inBubble(t, func(t *testing.T, c *cluster) {
		s := &service{
			in: function, method: method, ended: make(chan string, 1), stops: make(chan func(), 2), kept: make(chan context.Context, 1),
		}
		s.App, s.links = c.app(redlockfx.Config{Name: "x", TTL: waitingTTL, DrainTimeout: waitingDrain}, s.functions())
		s.RequireStart()
		var begun sync.WaitGroup
		begun.Go(func() {
			for begin != nil && !s.elector.IsLeader() {
				time.Sleep(time.Second)
			}
			if begin != nil {
				begin(s)
			}
		})
		select {
		case outcome = <-s.ended:
		case <-time.After(10 * time.Minute):
			t.Errorf("waits for itself")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		_ = s.App.App.Stop(ctx)
		_ = s.elector.Shutdown(ctx) // if the application was stopped before
		begun.Wait()
		for s.elector.State() != election.StateStopped {
			time.Sleep(time.Second)
		}
		_ = s.locker.Close(ctx) // if its context ended before
		synctest.Wait()
	})
	return outcome
}

// No method waits for the function that calls it. The table of the page says what happens instead.
func TestWaits_ForNoCaller(t *testing.T) {
	page, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n### No call waits for its own caller\n")
	table, _, _ = strings.Cut(table, "\n#")
	var columns []string
	rows := make(map[string]bool)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "|\n "), " | ")
		switch {
		case len(cells) < 2:
		case columns == nil:
			columns = cells
			if got, want := slices.Sorted(slices.Values(cells[1:])), slices.Sorted(maps.Keys(functions)); !slices.Equal(got, want) {
				t.Fatalf("columns %q, want %q", got, want)
			}
		case methods[cells[0]] != nil:
			rows[cells[0]] = true
			for i, want := range cells[1:] {
				t.Run(cells[0]+" from "+columns[i+1], func(t *testing.T) { checkCell(t, cells[0], columns[i+1], want) })
			}
		}
	}
	if len(rows) != len(methods) {
		t.Errorf("rows %q, want %q", slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(methods)))
	}
}

// checkCell compares a cell with the worst outcome of the functions in its column.
func checkCell(t *testing.T, row, column, want string) {
	t.Parallel()
	worst := ""
	for function, begin := range functions[column] {
		got := outcome(t, methods[row], function, begin)
		t.Logf("%s: %s", function, got)
		worst = map[bool]string{true: got, false: worst}[rank(got) > rank(worst)]
	}
	if worst != want {
		t.Errorf("%q, want %q", worst, want)
	}
}

func rank(outcome string) int { return slices.Index([]string{"", "works", "error", "late"}, outcome) }
