package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxNamed is how many leases an error names.
const maxNamed = 20

// Close abandons the leases that are still held, waits until what failed and finished holds left
// on the nodes is removed, and closes the clients that [Open] made. When ctx is done first, Close
// stops waiting and what is left runs out by its TTL. The error names all of it. A second Close
// does nothing.
func (l *Locker) Close(ctx context.Context) error {
	if !l.close() {
		return nil
	}
	l.calls.Wait() // each is over by the node timeout; then no lease is won any more
	l.mu.Lock()
	held := slices.Collect(maps.Keys(l.leases))
	l.mu.Unlock()

	var problems []error
	held = slices.DeleteFunc(held, func(lease *Lease) bool { return !lease.Valid() })
	if len(held) > 0 {
		names := make([]string, len(held))
		for i, lease := range held {
			names[i] = fmt.Sprintf("%q until %s", lease.name, lease.Deadline().Format(time.TimeOnly))
			lease.Abandon()
		}
		slices.Sort(names)
		if more := len(names) - maxNamed; more > 0 {
			names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
		}
		problems = append(problems,
			fmt.Errorf("redlock: close: abandoned what was still held: %s", strings.Join(names, ", ")))
	}

	// What is under way may still leave something to the janitors; then they finish.
	_ = l.quorum.Idle(ctx) // the same is reported below
	if !l.finish(ctx, 2*l.settings.NodeTimeout) {
		problems = append(problems, l.unfinished())
	}

	for _, j := range l.janitors {
		if err := j.report(); err != nil {
			problems = append(problems, err)
		}
	}
	if err := l.quorum.Close(ctx); err != nil {
		problems = append(problems, fmt.Errorf("redlock: close: %w", err))
	}
	for _, client := range l.owned {
		if err := client.Close(); err != nil {
			problems = append(problems, fmt.Errorf("redlock: close: %w", err))
		}
	}
	return errors.Join(problems...)
}

// unfinished says what goes on in the background although nothing waits for it any more.
func (l *Locker) unfinished() error {
	if l.observed.isCalling() {
		return errors.New("redlock: close: a function given to OnNode has not returned")
	}
	return errors.New("redlock: close: a connection that is being made, to listen to a node, " +
		"cannot be called off: it ends when its client gives up")
}
