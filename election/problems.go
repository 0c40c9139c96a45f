package election

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	inspectEvery = time.Minute // Run looks for problems
	repeatEvery  = time.Hour   // it logs one that lasts
)

// reportProblems logs each problem when it is found, and again while it lasts, and calls the hook. It ends with ctx.
func (e *Elector) reportProblems(ctx context.Context) {
	said := make(map[time.Time]time.Time) // when a problem was logged, by its start
	for retry.Sleep(ctx, inspectEvery) == nil {
		all := e.Problems()
		lasts := make(map[time.Time]time.Time, len(all))
		for _, p := range all {
			at := said[p.Since]
			if time.Since(at) >= repeatEvery {
				at = time.Now()
				e.log.Error("a problem does not end by itself: somebody must act", zap.Time("since", p.Since),
					zap.Bool("restart_helps", errors.Is(p.Err, ErrRestart)), zap.Error(p.Err))
				e.config.hooks.problem(p)
			}
			lasts[p.Since] = at
		}
		if len(all) == 0 && len(said) > 0 {
			e.log.Info("no problems any more")
		}
		said = lasts
	}
}
