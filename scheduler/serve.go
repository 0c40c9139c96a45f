package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	// waitingEvery is how often Serve logs what it waits for.
	waitingEvery = 3 * time.Second
	// closeTimeout bounds the removal of leftovers from the nodes when Serve ends.
	closeTimeout = 2 * time.Second
)

// Work is what [Serve] takes: a [Job], a [Source], or [Options].
type Work interface{ add(to *service) }

// Options are for the parts that [Serve] makes. They come after its own, which only set the loggers.
type Options struct {
	Lock      []redlock.Option
	Election  []election.Option
	Scheduler []Option
}

// service is what Serve has been given.
type service struct {
	Options
	where   string // file and line of the call to Serve
	jobs    []Job
	sources []Source
}

func (j Job) add(to *service) { to.jobs = append(to.jobs, j) }

func (s Source) add(to *service) { to.sources = append(to.sources, s) }

func (o Options) add(to *service) {
	to.Lock = append(to.Lock, o.Lock...)
	to.Election = append(to.Election, o.Election...)
	to.Scheduler = append(to.Scheduler, o.Scheduler...)
}

// Serve runs jobs on one of the processes that call it with the same nodes and the same name of an election. It makes a Locker on
// the nodes at these URLs, an Elector and a Scheduler, waits until a majority of nodes grants locks, and campaigns. It logs to
// slog.Default.
//
// Serve returns when ctx is done, or the process gets an interrupt or SIGTERM; a second signal ends the process. Before that, it
// lets runs finish within the drain timeout, hands leadership over, and closes the Locker. The error is nil if all of that went well.
// Without anything to run, Serve returns an error at once.
//
// A service with a dashboard, a probe or other uses of its Elector makes the three parts itself: see [New].
func Serve(ctx context.Context, urls []string, name string, work ...Work) error {
	s := service{where: callLine()}
	for i, w := range work {
		if v := reflect.ValueOf(w); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("scheduler: serve: work %d of %d is nil", i+1, len(work))
		}
		w.add(&s)
	}
	locker, err := redlock.Open(urls, s.Lock...)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return s.serve(ctx, locker, name)
}

// serve runs the jobs, and closes the Locker.
func (s *service) serve(ctx context.Context, locker *redlock.Locker, name string) error {
	err := s.run(ctx, locker, name, slog.Default())
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, locker.Close(closing))
}

func (s *service) run(ctx context.Context, locker *redlock.Locker, name string, log *slog.Logger) error {
	elector, err := election.New(locker, name, append([]election.Option{election.WithSlog(log)}, s.Election...)...)
	if err != nil {
		return err
	}
	scheduler, err := New(elector, append([]Option{WithSlog(log)}, s.Scheduler...)...)
	if err != nil {
		return err
	}
	err = scheduler.addAt(s.where, s.jobs)
	for _, src := range s.sources {
		err = errors.Join(err, scheduler.addSourceAt(s.where, src))
	}
	if err != nil {
		return err
	}
	select {
	case <-inside.HasWork(elector):
	default:
		return errors.New("scheduler: serve: nothing to run: add a Job, a Source, or Options with an election.OnLeader")
	}
	scheduler.awaitNodes(ctx)
	return elector.Run(ctx)
}

// awaitNodes returns when a majority of nodes grants locks, or ctx is done. It logs what it waits for: at once, and again and again.
func (s *Scheduler) awaitNodes(ctx context.Context) {
	locker, began := s.elector.Locker(), time.Now()
	for pause := 2 * locker.Settings().NodeTimeout; ctx.Err() == nil; pause = waitingEvery {
		try, cancel := context.WithTimeout(ctx, pause)
		err := locker.Ready(try)
		refused := err != nil && try.Err() == nil // Ready gives up before that only where waiting is pointless
		if err != nil {
			<-try.Done()
		}
		cancel()
		waited := zap.Duration("waited", time.Since(began))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
		case refused:
			s.log.Error("the nodes refuse this replica, retrying", waited, zap.Error(err))
		case errors.Is(err, redlock.ErrGuarded):
			s.log.Info("not ready yet: nodes grant nothing for a while, waiting", waited, zap.Error(err))
		default:
			s.log.Warn("not ready yet: too few nodes grant locks, retrying", waited, zap.Error(err))
		}
	}
}
