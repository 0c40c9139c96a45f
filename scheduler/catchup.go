package scheduler

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
)

const (
	defaultWindow = time.Hour
	maxWindow     = 366 * 24 * time.Hour
)

// CatchUp says what happens to ticks that came while nobody led, or while too few nodes answered. Lateness counts from the
// tick's start, which includes the job's Jitter. If a job is new to the nodes, or its spec or zone has changed, there is nothing
// to catch up with from before that. Ticks that came during a pause are not caught up with either. CatchUp does not limit how
// long a tick waits under [Queue] or [Replace]. The zero value is CatchUpLast(time.Hour).
type CatchUp struct {
	kind   catchUpKind
	window time.Duration
}

type catchUpKind int

const (
	catchUpDefault catchUpKind = iota
	catchUpNone
	catchUpLast
	catchUpAll
)

// CatchUpNone does not run ticks that are more than a few seconds late.
func CatchUpNone() CatchUp { return CatchUp{catchUpNone, jobmachine.LateTolerance} }

// CatchUpLast runs the newest late tick, once, if it is not older than window. The window is at most 366 days. Too
// short: an outage costs a run. Too long: a run comes when it is of no use any more.
func CatchUpLast(window time.Duration) CatchUp { return CatchUp{catchUpLast, window} }

// CatchUpAll runs each late tick that is not older than window, one after the other, the oldest first. It runs at most
// the newest 1000 of them. The window is at most 366 days.
func CatchUpAll(window time.Duration) CatchUp { return CatchUp{catchUpAll, window} }

func (c CatchUp) orDefault() CatchUp {
	if c.kind == catchUpDefault {
		return CatchUpLast(defaultWindow)
	}
	return c
}

func (c CatchUp) problem() error {
	if c.window < 0 || c.window > maxWindow || c.kind != catchUpDefault && c.window == 0 {
		return fmt.Errorf("catch-up window %v must be above 0 and at most %v", c.window, maxWindow)
	}
	return nil
}
