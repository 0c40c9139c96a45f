package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxNamed is how many leases an error lists.
const maxNamed = 20

// Close abandons the leases that are still held, waits until the leftovers of failed and finished acquisitions are
// removed from the nodes, and closes the clients that [Open] made. If ctx is done first, Close stops waiting and the
// leftovers expire after their TTL. The error names the abandoned leases and the nodes with leftovers. A second Close
// does nothing.
//
// Close does not wait for work under the leases, so that work may call it. It waits two node timeouts for a function of
// [Locker.OnNode] or [Extension] to return, and then reports it, since that may be its caller.
func (l *Locker) Close(ctx context.Context) error {
	if !l.close() {
		return nil
	}
	l.calls.Wait() // each ends within the node timeout; then no new lease can be won
	var problems []error
	if held := l.leases.held(); len(held) > 0 {
		names := make([]string, len(held))
		for i, lease := range held {
			names[i] = fmt.Sprintf("%q until %s", lease.grant.name, lease.Deadline().Format(time.TimeOnly))
			lease.Abandon()
		}
		slices.Sort(names)
		if more := len(names) - maxNamed; more > 0 {
			names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
		}
		problems = append(problems,
			fmt.Errorf("redlock: close: abandoned leases that were still held: %s", strings.Join(names, ", ")))
	}

	_ = l.quorum.Idle(ctx) // calls under way may still leave work to the janitors; quorum.Close reports the same error below
	for _, j := range l.janitors {
		j.finish()
	}
	if err := l.finish(ctx, 2*l.settings.NodeTimeout); err != nil {
		problems = append(problems, err)
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
