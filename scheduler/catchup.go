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

// CatchUp is what happens to ticks that came while nobody led, or while too few nodes answered. Lateness counts from the start
// that the job's Jitter gives a tick. The ticks of a job that is new to the nodes, or whose spec or zone has changed, begin then.
// Ticks that came during a pause are not caught up with. CatchUp does not limit how long a tick waits under [Queue] or
// [Replace]. The zero value is CatchUpLast(time.Hour).
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

// CatchUpNone leaves out ticks that are more than a few seconds late.
func CatchUpNone() CatchUp { return CatchUp{catchUpNone, jobmachine.Fresh} }

// CatchUpLast runs the newest tick that was missed, once, if it is not older than window, 366 days at most. Too short:
// an outage costs a run. Too long: a run comes when it is of no use any more.
func CatchUpLast(window time.Duration) CatchUp { return CatchUp{catchUpLast, window} }

// CatchUpAll runs each tick that was missed and is not older than window, 366 days at most, one after the other, the
// oldest first; of more than 1000, the newest 1000.
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
