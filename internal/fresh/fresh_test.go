package fresh_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/fresh"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	age  = 5 * time.Second
	took = time.Second
)

// counting counts its reads, each of which takes a second.
func counting() *fresh.Value[int] {
	return &fresh.Value[int]{For: age, Read: func(_ context.Context, last int) int {
		time.Sleep(took)
		return last + 1
	}}
}

func want(t *testing.T, v *fresh.Value[int], n int) {
	t.Helper()
	got, until, err := v.Get(t.Context())
	if got != n || err != nil {
		t.Errorf("got %d, %v; want %d", got, err, n)
	}
	if !time.Now().Before(until) {
		t.Errorf("fresh for %v", time.Until(until))
	}
}

func TestGet_ReadsOnceForAllWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := counting()
		began := time.Now()
		var asking sync.WaitGroup
		for range 10 {
			asking.Go(func() { want(t, v, 1) })
		}
		asking.Wait()
		if passed := time.Since(began); passed != took {
			t.Errorf("after %v", passed)
		}
		time.Sleep(age - 1)
		want(t, v, 1)
		time.Sleep(time.Nanosecond)
		want(t, v, 2)
	})
}

func TestGet_GivesUpForTheOneWhoHasGoneAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := counting()
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		var asking sync.WaitGroup
		asking.Go(func() {
			if n, _, err := v.Get(ctx); n != 1 || err != nil { // it is the one that reads
				t.Errorf("got %d, %v", n, err)
			}
		})
		synctest.Wait()
		asking.Go(func() {
			if n, _, err := v.Get(ctx); n != 0 || !errors.Is(err, gone) {
				t.Errorf("got %d, %v; want nothing, and why", n, err)
			}
		})
		asking.Go(func() { want(t, v, 1) })
		synctest.Wait()
		leave(gone)
		asking.Wait()
	})
}

func TestExpire_AlsoOfAReadThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := counting()
		want(t, v, 1)
		v.Expire()
		want(t, v, 2)
		want(t, v, 2)
		v.Expire()
		var asking sync.WaitGroup
		asking.Go(func() { want(t, v, 3) })
		time.Sleep(took / 2)
		v.Expire()
		asking.Go(func() { want(t, v, 4) })
		asking.Wait()
	})
}

func TestGet_AfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		v := &fresh.Value[int64]{For: age, Read: func(context.Context, int64) int64 {
			time.Sleep(took)
			if reads.Add(1) == 1 {
				panic("once")
			}
			return reads.Load()
		}}
		var asking sync.WaitGroup
		asking.Go(func() {
			defer func() {
				if value := recover(); value != "once" {
					t.Errorf("recovered %v", value)
				}
			}()
			_, _, _ = v.Get(t.Context())
		})
		synctest.Wait()
		asking.Go(func() {
			if n, _, err := v.Get(t.Context()); n != 2 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		})
		asking.Wait()
	})
}
