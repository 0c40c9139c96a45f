package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// kind is a kind of event, as errors name it.
type kind string

const (
	leads    kind = "led"     // its callback has started
	stopped  kind = "stopped" // its callback has returned
	began    kind = "began a run"
	ended    kind = "finished a run"
	cutShort kind = "was stopped in a run"
	cutOff   kind = "was cut off"
	stopping kind = "was asked to stop"
)

// event is something that happened to a replica.
type event struct {
	at   time.Duration // since the start
	who  string
	what kind
	tick time.Time     // of a run
	late time.Duration // from the tick to the start of the run
}

const (
	waitLimit = 15 * ttl  // how long the story waits for its next event
	punctual  = every / 5 // a run that starts later than this after its tick is late
)

// history records and prints what happens.
type history struct {
	out   *log.Logger
	start time.Time

	mu       sync.Mutex // guards the fields below
	acts     int
	over     bool   // the story is over, and the replicas are being stopped
	stopping string // the replica that was asked to stop last
	events   []event
	awaited  int           // events that await has passed
	changed  chan struct{} // closed with the next event
}

func newHistory(out *log.Logger) *history {
	return &history{out: out, start: time.Now(), changed: make(chan struct{})}
}

// act prints the heading of the next part.
func (h *history) act(title, explanation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts++
	h.out.Printf("\n%d. %s\n   %s", h.acts, title, explanation)
}

// add records that something happened to a replica now, and prints it.
func (h *history) add(who string, what kind, text string) { h.addRun(who, what, time.Time{}, text) }

func (h *history) addRun(who string, what kind, tick time.Time, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := event{at: time.Since(h.start), who: who, what: what, tick: tick}
	if what == began {
		if e.late = h.lateLocked(e); e.late > punctual {
			text += fmt.Sprintf(", %.1f s late", e.late.Seconds())
		}
	}
	if what == stopping {
		h.stopping = who
	}
	h.events = append(h.events, e)
	close(h.changed)
	h.changed = make(chan struct{})
	hidden := what == ended && who != h.stopping || what == stopped && h.over // each run is printed at its start
	if !hidden {
		h.out.Printf("   %6.2f s  %s  %s", e.at.Seconds(), who, text)
	}
}

// lateLocked returns how long after its tick a run started, assuming that the first one was on time. Ticks are
// instants of the nodes' clocks, which may differ from the clock of this process.
func (h *history) lateLocked(e event) time.Duration {
	first := slices.IndexFunc(h.events, func(e event) bool { return e.what == began })
	if first < 0 {
		return 0
	}
	return e.at - h.events[first].at - e.tick.Sub(h.events[first].tick)
}

// end marks the end of the story. From then on, callbacks that return are not printed.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

func (h *history) all() []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// leader returns the replica that led last.
func (h *history) leader() string {
	for _, e := range slices.Backward(h.all()) {
		if e.what == leads {
			return e.who
		}
	}
	return ""
}

// await waits until something has happened n times since the end of the last await.
func (h *history) await(ctx context.Context, what kind, n int) error {
	timeout := time.After(waitLimit)
	for {
		h.mu.Lock()
		for ; h.awaited < len(h.events) && n > 0; h.awaited++ {
			if h.events[h.awaited].what == what {
				n--
			}
		}
		changed := h.changed
		h.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("no replica %s within %v", what, waitLimit)
		case <-ctx.Done():
			return errors.New("interrupted")
		}
	}
}

// lead is the leader's callback. While one replica is in it, no other may be in it, or in a run.
func (h *history) lead(ctx context.Context, who string) {
	h.add(who, leads, "leads")
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), election.ErrLost) {
		h.add(who, stopped, "stops by itself, because it could not renew its lease")
	} else {
		h.add(who, stopped, "starts no more runs")
	}
}

// run is the job.
func (h *history) run(ctx context.Context, who string, run scheduler.Run) error {
	h.addRun(who, began, run.Tick, "runs tick "+clock(run.Tick))
	select {
	case <-time.After(work):
		h.addRun(who, ended, run.Tick, "finishes the run of tick "+clock(run.Tick))
		return nil
	case <-ctx.Done():
		h.addRun(who, cutShort, run.Tick, "is stopped in the run of tick "+clock(run.Tick))
		return context.Cause(ctx)
	}
}
