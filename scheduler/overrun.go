package scheduler

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// returnTime is how long a run may take to return after its timeout before it is reported.
const returnTime = time.Second

// timeoutError is the cause with which a run's context ends after the job's Timeout. It is a context.DeadlineExceeded.
type timeoutError time.Duration

func (e timeoutError) Error() string {
	return fmt.Sprintf("the job's timeout of %v has passed", time.Duration(e))
}
func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

// watch reports a run that does not return after its timeout, to the log again and again, until the returned function is called.
// Nothing can end such a run from outside.
func (r *runner) watch(ctx context.Context, a *active) (end func()) {
	return after(ctx, a.job.Timeout-a.took+returnTime, func(ctx context.Context) {
		a.tell(func() { r.hooks.overrun(a.Run) })
		for pause := time.Minute; ctx.Err() == nil; pause = min(2*pause, time.Hour) {
			a.tell(func() {
				r.log.Warn("a run has not returned after its timeout, and is under way until it returns or this process restarts",
					append(a.fields(nil), zap.Duration("timeout", a.job.Timeout))...)
			})
			_ = retry.Sleep(ctx, pause) // the loop checks ctx
		}
	})
}
