package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	eventCut  = "cut"
	eventStop = "graceful stop"
)

// history prints what happens and checks it at the end.
type history struct {
	began time.Time

	mu       sync.Mutex // guards the fields below
	leading  map[string]bool
	overlaps int
	runs     map[time.Time]int // by tick
	first    time.Time         // tick that ran
	last     time.Time
	pending  string // the event that the next leader follows
	since    time.Time
	took     map[string]time.Duration // from an event to the next leader
}

func newHistory() *history {
	return &history{
		began: time.Now(), leading: make(map[string]bool),
		runs: make(map[time.Time]int), took: make(map[string]time.Duration),
	}
}

func (h *history) printLocked(who, text string) {
	fmt.Printf("%6.2fs  %s  %s\n", time.Since(h.began).Seconds(), who, text)
}

// lead is the leader's callback: from its start to its return, nobody else may be in it.
func (h *history) lead(ctx context.Context, who string) {
	term, _ := election.TermFrom(ctx)
	h.mu.Lock()
	if h.pending != "" {
		h.took[h.pending] = time.Since(h.since)
		h.pending = ""
	}
	h.leading[who] = true
	if len(h.leading) > 1 {
		h.overlaps++
	}
	h.printLocked(who, fmt.Sprintf("leads, token %d", term.Token()))
	h.mu.Unlock()

	<-ctx.Done()

	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.leading, who)
	why := "asked to stop"
	if errors.Is(context.Cause(ctx), election.ErrLost) {
		why = "lease lost"
	}
	h.printLocked(who, "leads no more: "+why)
}

// run is the job.
func (h *history) run(_ context.Context, who string, run scheduler.Run) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[run.Tick]++
	if h.first.IsZero() {
		h.first = run.Tick
	}
	h.last = run.Tick
	h.printLocked(who, fmt.Sprintf("tick %s, token %d", run.Tick.Format(time.TimeOnly), run.Token))
	return nil
}

// happened notes an event that the next leader follows.
func (h *history) happened(who, text, event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending, h.since = event, time.Now()
	h.printLocked(who, text)
}

func (h *history) note(who, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.printLocked(who, text)
}

func (h *history) ending() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = ""
}

// summary prints the figures, and returns an error for what must not have happened.
func (h *history) summary(whole bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	runs, twice := 0, 0
	for _, n := range h.runs {
		runs += n
		if n > 1 {
			twice++
		}
	}
	ticks := 0
	if runs > 0 {
		ticks = int(h.last.Sub(h.first)/time.Second) + 1
	}
	fmt.Printf("\nticks %d, runs %d, ticks run twice %d, overlaps %d\n", ticks, runs, twice, h.overlaps)
	for _, event := range []string{eventCut, eventStop} {
		if took, ok := h.took[event]; ok {
			fmt.Printf("next leader after the %s: %v\n", event, took.Round(time.Millisecond))
		}
	}
	switch {
	case twice > 0:
		return fmt.Errorf("%d ticks ran twice", twice)
	case h.overlaps > 0:
		return fmt.Errorf("two replicas led at once, %d times", h.overlaps)
	case whole && len(h.took) < 2:
		return errors.New("nobody took over")
	}
	return nil
}
