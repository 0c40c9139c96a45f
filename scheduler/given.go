package scheduler

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/cronspec"
)

const (
	// nextTimeout is how long a search for ticks of a [Job].Schedule may take. It holds up the ticks of all jobs.
	nextTimeout = 2 * time.Second
	// maxCounted bounds a search. Of more ticks that are missed together, only that many are counted.
	maxCounted = 10_000
)

// given is a [Job].Schedule. It can fail in any of its calls. From then on it has no ticks, so that it holds up nobody again.
type given struct {
	cronspec.Opaque // its text
	schedule        cron.Schedule
	log             *zap.Logger // nil until the job is added
	failure         atomic.Pointer[error]
}

// found is the result of a search.
type found struct {
	tick time.Time // the first one after the end of the search; zero: there is none
	n    int       // how many ticks come before it
	err  error
}

// Next returns the first tick after an instant, or the zero time if there is none.
func (g *given) Next(after time.Time) time.Time { return g.search(after, after).tick }

// Count returns the number of ticks after one instant and up to another, or maxCounted if there are more.
func (g *given) Count(after, upTo time.Time) int { return g.search(after, upTo).n }

// err returns why it has failed, or nil.
func (g *given) err() error {
	if err := g.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// failure returns why the job's Schedule has failed, or nil.
func (j *job) failure() error {
	if g, ok := j.schedule.(*given); ok {
		return g.err()
	}
	return nil
}

// search runs a search on a goroutine of its own, and waits for it. The goroutine ends when Next returns, which nobody can make it do:
// if it does not, the goroutine stays, but there is no further one.
func (g *given) search(after, upTo time.Time) found {
	if g.err() != nil {
		return found{}
	}
	done := make(chan found, 1)
	go func() {
		f := found{err: errors.New("Next called runtime.Goexit")}
		defer func() {
			if v := recover(); v != nil {
				f.err = &panicError{"Next", v, debug.Stack()}
			}
			done <- f
		}()
		f = g.walk(after.UTC(), upTo)
	}()
	f := found{err: fmt.Errorf("Next did not answer within %v", nextTimeout)}
	for range 2 { // the first wait is over at once if the machine was suspended
		timeout := time.NewTimer(nextTimeout / 2)
		select {
		case f = <-done:
			timeout.Stop()
		case <-timeout.C:
			continue
		}
		break
	}
	if f.err == nil {
		return f
	}
	err := fmt.Errorf("its Schedule has failed: %w", f.err)
	if g.failure.CompareAndSwap(nil, &err) && g.log != nil {
		fields := []zap.Field{zap.Error(f.err)}
		if p, ok := errors.AsType[*panicError](f.err); ok {
			fields = append(fields, zap.ByteString("stack", p.stack))
		}
		g.log.Error("the Schedule of a job has failed, and the job has no ticks any more in this process", fields...)
	}
	return found{}
}

// walk goes from tick to tick, up to the first one that is after an instant.
func (g *given) walk(after, upTo time.Time) (f found) {
	for last := after; f.n < maxCounted; f.n++ {
		tick := g.schedule.Next(last).UTC().Round(0) // without a monotonic reading
		if tick.Year() > 9999 {
			tick = time.Time{}
		}
		f.tick = tick
		switch {
		case tick.IsZero():
			return f
		case !tick.After(last):
			f.err = fmt.Errorf("Next of %s is %s, which is not after it", last.Format(time.RFC3339Nano), tick.Format(time.RFC3339Nano))
			return f
		case tick.Nanosecond() != 0:
			f.err = fmt.Errorf("Next of %s is %s, which is not a whole second", last.Format(time.RFC3339Nano), tick.Format(time.RFC3339Nano))
			return f
		case tick.After(upTo):
			return f
		}
		last = tick
	}
	return f
}

// check returns an error if it fails in a few calls, has no tick at all, or has ticks that depend on where one starts to look.
func (g *given) check(from time.Time) error {
	if g.Next(from).IsZero() && g.Next(time.Unix(0, 0)).IsZero() && g.err() == nil {
		return errors.New("it has no ticks: its date never comes")
	}
	for range 3 {
		tick := g.Next(from)
		if tick.IsZero() {
			break
		}
		for _, between := range []time.Time{from.Add(tick.Sub(from) / 2), tick.Add(-1)} {
			if again := g.Next(between); g.err() == nil && !again.Equal(tick) {
				return fmt.Errorf("Next of %s is %s, but of %s, between the two, it is %s: ticks must be the same from wherever one looks, as those of the spec @every 1h are",
					from.UTC().Format(time.RFC3339), tick.Format(time.RFC3339), between.UTC().Format(time.RFC3339), again.Format(time.RFC3339))
			}
		}
		from = tick
	}
	return g.err()
}
