package gocronlock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlockfx/redlockfx/adapters/gocronlock"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	apart = 300 * time.Millisecond // between the ticks of two replicas
	short = 5 * time.Millisecond   // a short run
	ticks = 10
)

// runs counts the runs of a job that ticks every two seconds in two replicas, whose ticks are apart.
func runs(t *testing.T, lockers ...gocron.Locker) int64 {
	t.Helper()
	var n atomic.Int64
	for _, locker := range lockers {
		jobs, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithLocation(time.UTC))
		want.NoError(t, err)
		_, err = jobs.NewJob(gocron.DurationJob(2*time.Second), gocron.NewTask(func() {
			n.Add(1)
			time.Sleep(short)
		}), gocron.WithName("report"))
		want.NoError(t, err)
		jobs.Start()
		defer func() {
			if err := jobs.Shutdown(); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(apart)
	}
	time.Sleep(2*ticks*time.Second + time.Second - time.Duration(len(lockers))*apart)
	return n.Load()
}

func TestLocker_RunsATickOnceThoughReplicasAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		var lockers []gocron.Locker
		for range 2 {
			l, err := gocronlock.Locker(nodes.Process().Locker(), time.Second)
			want.NoError(t, err)
			lockers = append(lockers, l)
		}
		if n := runs(t, lockers...); n != ticks {
			t.Errorf("%d runs of %d ticks", n, ticks)
		}
	})
}

// A run that is longer than the minimum time keeps the lock, and releases it at its end. If it is shorter, also if it is long
// enough that its lease was extended, the lock is free for the next tick.
func TestLocker_IsHeldForTheRunOrTheLeast(t *testing.T) {
	const least = time.Second
	for _, run := range []time.Duration{0, 400 * time.Millisecond, 900 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			nodes := redlocktest.New(t, 3)
			a, err := gocronlock.Locker(nodes.Process().Locker(), least)
			want.NoError(t, err)
			other := nodes.Process().Locker()
			lock, err := a.Lock(t.Context(), "report")
			want.NoError(t, err)
			time.AfterFunc(run, func() {
				if err := lock.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(max(run, least) - 10*time.Millisecond)
			if _, err := other.TryAcquire(t.Context(), "report"); err == nil {
				t.Errorf("a run of %v: it was not held for the run and the least", run)
			}
			time.Sleep(20 * time.Millisecond)
			if _, err := other.TryAcquire(t.Context(), "report"); err != nil {
				t.Errorf("a run of %v: it is held for longer: %v", run, err)
			}
		})
	}
}

func TestLocker_RefusesALeastThatNoLeaseCanHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := redlocktest.New(t, 1).Process().Locker()
		for _, least := range []time.Duration{0, -time.Second, time.Millisecond, time.Hour} {
			if _, err := gocronlock.Locker(l, least); err == nil {
				t.Errorf("at least %v is accepted", least)
			}
		}
	})
}

func TestElector_RunsOnTheLeaderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		a, b := nodes.Replica(), nodes.Replica()
		a.Lead()
		b.Run()
		var onA, onB atomic.Int64
		for r, n := range map[*redlocktest.Replica]*atomic.Int64{a: &onA, b: &onB} {
			jobs, err := gocron.NewScheduler(gocron.WithDistributedElector(gocronlock.Elector(r.Elector)))
			want.NoError(t, err)
			if _, err = jobs.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(func() { n.Add(1) })); err != nil {
				t.Fatal(err)
			}
			jobs.Start()
			defer func() {
				if err := jobs.Shutdown(); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(5*time.Minute + time.Second)
		want.NoError(t, a.Stop())
		time.Sleep(3 * time.Minute)
		if onA.Load() != 5 || onB.Load() != 3 {
			t.Errorf("%d and %d runs, want 5 and 3", onA.Load(), onB.Load())
		}
	})
}
