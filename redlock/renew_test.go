package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

func TestAutoExtend_LeasesThatAreDueTogetherTravelTogether(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		const leases = 1000
		var all []*redlock.Lease
		for i := range leases {
			all = append(all, mustAcquire(t, l, fmt.Sprint(i), redlock.WithAutoExtend(redlock.Extension{})))
		}
		synctest.Wait()
		before := c.Requests(0)
		const periods = 5
		time.Sleep(periods * ttl / 3)
		if asked := c.Requests(0) - before; asked > (leases/100+2)*(periods+1) {
			t.Errorf("%d requests to extend %d leases %d times", asked, leases, periods)
		}
		time.Sleep(2 * ttl)
		for _, lease := range all {
			if !lease.Valid() {
				t.Fatalf("%s is lost", lease.Name())
			}
		}
	})
}

// One that is lost says nothing about those that travel with it.
func TestAutoExtend_JudgesEachLeaseAlone(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		var all []*redlock.Lease
		for i := range 10 {
			all = append(all, mustAcquire(t, l, fmt.Sprint(i), redlock.WithAutoExtend(redlock.Extension{})))
		}
		synctest.Wait()
		c.drop("3", 0, 1)
		c.take("5", 0, 2)
		c.drop("7", 2)
		time.Sleep(ttl)
		for i, lease := range all {
			if lost := i == 3 || i == 5; lease.Valid() == lost {
				t.Errorf("lease %d: valid %v", i, lease.Valid())
			}
		}
		if c.keys("7") != 3 {
			t.Error("a minority that had lost a lease was not repaired")
		}
	})
}

// A short interval makes no hot loop, neither when all is well nor when nothing is.
func TestAutoExtend_CommandsAreBounded(t *testing.T) {
	for name, fault := range map[string]func(c *cluster){
		"well":   func(*cluster) {},
		"hung":   func(c *cluster) { c.Hang() },
		"broken": func(c *cluster) { c.Answer("LOADING Redis is loading the dataset in memory") },
		"cut":    func(c *cluster) { c.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				l, _ := c.locker(redlock.WithTTL(redlock.MinTTL), redlock.WithMaxTTL(ttl),
					redlock.WithNodeTimeout(20*time.Millisecond))
				mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
				synctest.Wait()
				fault(c)
				before := c.Requests(0)
				time.Sleep(10 * time.Second)
				// An extension each 33 ms has three attempts, and go-redis tries each four times.
				if asked := c.Requests(0) - before; asked > 10*30*3*4 {
					t.Errorf("%d requests in 10 s", asked)
				}
			})
		})
	}
}

func TestAutoExtend_TellsOfEachExtension(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		type outcome struct {
			attempts int
			took     time.Duration
			err      error
		}
		told := make(chan outcome, 100)
		l, process := c.locker()
		lease, err := l.TryAcquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{
			Every: ttl / 3, Attempts: 3,
			Told: func(attempts int, took time.Duration, err error) { told <- outcome{attempts, took, err} },
		}))
		if err != nil {
			t.Fatal(err)
		}
		if o := <-told; o.attempts != 1 || o.took != 0 || o.err != nil {
			t.Errorf("told %+v, want one attempt", o)
		}
		process.Cut()
		if o := <-told; o.attempts != 3 || o.took == 0 || !errors.Is(o.err, redlock.ErrNoQuorum) {
			t.Errorf("told %+v, want three attempts", o)
		}
		<-lease.Context().Done()
		synctest.Wait()
		for len(told) > 0 {
			if o := <-told; o.err == nil {
				t.Errorf("told %+v", o)
			}
		}
	})
}

func TestAutoExtend_TellsThatALeaseIsLostBeforeItEnds(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		told := make(chan error, 1)
		var held atomic.Pointer[redlock.Lease] // before the first extension
		l, _ := c.locker()
		lease, err := l.TryAcquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{
			Every: ttl / 3, Attempts: 3,
			Told: func(_ int, _ time.Duration, err error) { told <- errors.Join(err, held.Load().Context().Err()) },
		}))
		if err != nil {
			t.Fatal(err)
		}
		held.Store(lease)
		c.drop("x", 0, 1, 2)
		<-lease.Context().Done()
		select {
		case err := <-told:
			if !errors.Is(err, redlock.ErrLost) || errors.Is(err, context.Canceled) {
				t.Errorf("told %v", err)
			}
		default:
			t.Error("it has ended, and nothing was told")
		}
	})
}
