//go:build unix

package replicas

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Lead runs a number of jobs that tick every second, as a service does, until the process is killed. Each tick runs at
// least once, however late.
func Lead(nodes []string, ttl time.Duration, jobs int, run func(context.Context, scheduler.Run) error, opts ...election.Option) error {
	locker, err := redlock.Open(nodes, redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/10))
	if err != nil {
		return err
	}
	elector, err := election.New(locker, "once", opts...)
	if err != nil {
		return err
	}
	s, err := scheduler.New(elector)
	if err != nil {
		return err
	}
	for n := range jobs {
		err := s.Add(scheduler.Job{
			Name: fmt.Sprintf("job %d", n), Spec: "@every 1s", Run: run, AtLeastOnce: true,
			CatchUp: scheduler.CatchUpAll(time.Hour), Overlap: scheduler.Queue,
			Retry: scheduler.Retry{Times: 100, Wait: 50 * time.Millisecond},
		})
		if err != nil {
			return err
		}
	}
	return elector.Run(context.Background())
}
