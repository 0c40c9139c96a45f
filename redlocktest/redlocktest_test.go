package redlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExample_IsATestThatPasses(test *testing.T) {
	t = test
	Example()
}

func TestLeader_LosesItsTermWithTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := redlocktest.Leader(t)
		ended := make(chan error, 1)
		r.Elector.OnLeader(func(ctx context.Context) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
		})
		other := r.Nodes.Replica()
		other.Run()
		time.Sleep(time.Minute)
		r.Cut(0, 1)
		if cause := <-ended; !errors.Is(cause, election.ErrLost) {
			t.Errorf("the context ended by %v", cause)
		}
		if term := other.Lead(); term.Token() == 0 {
			t.Error("the other one leads without a token")
		}
		r.Heal()
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
		r.Lead()
	})
}

func TestLeader_LeadsAtOnceInRealTime(t *testing.T) {
	r := redlocktest.Leader(t)
	if _, ok := r.Elector.Term(); !ok {
		t.Error("does not lead")
	}
}

// Each fault shows where it has to: in a lock's life.
func TestNodes_FailAsTold(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(n *redlocktest.Nodes)
		want error
	}{
		"cut":          {func(n *redlocktest.Nodes) { n.Cut(0, 1) }, redlock.ErrNoQuorum},
		"hung":         {func(n *redlocktest.Nodes) { n.Hang(0, 1) }, redlock.ErrNoQuorum},
		"slow":         {func(n *redlocktest.Nodes) { n.Delay(time.Second) }, redlock.ErrNoQuorum},
		"no replies":   {func(n *redlocktest.Nodes) { n.DropReplies(1, 2) }, redlock.ErrNoQuorum},
		"stopped":      {func(n *redlocktest.Nodes) { n.Stop(0); n.Stop(2) }, redlock.ErrNoQuorum},
		"restarted":    {func(n *redlocktest.Nodes) { n.Restart(0); n.Restart(2) }, redlock.ErrGuarded},
		"wiped":        {func(n *redlocktest.Nodes) { n.Wipe(0); n.Wipe(1) }, redlock.ErrGuarded},
		"one is away":  {func(n *redlocktest.Nodes) { n.Stop(0) }, nil},
		"healed":       {func(n *redlocktest.Nodes) { n.Cut(); n.Heal() }, nil},
		"clock jumped": {func(n *redlocktest.Nodes) { n.Jump(0, -time.Hour); n.Jump(1, -time.Hour) }, redlock.ErrNoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := redlocktest.New(t, 3)
				l := nodes.Process().Locker()
				lease, err := l.TryAcquire(t.Context(), "before")
				if err != nil {
					t.Fatal(err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				test.fail(nodes)
				_, err = l.TryAcquire(t.Context(), "x")
				if test.want == nil && err != nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestProcess_FailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 5, redlock.WithKeyPrefix("other"))
		a, b := nodes.Process(), nodes.Process()
		a.Cut(0, 1, 2)
		if _, err := a.Locker().TryAcquire(t.Context(), "x"); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("cut off from three nodes: %v", err)
		}
		if _, err := b.Locker().TryAcquire(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		if n := len(nodes.Addrs()); n != 5 {
			t.Errorf("%d nodes", n)
		}
	})
}

// caught is a test that records how it was ended.
type caught struct {
	testing.TB
	fatal string
}

func (c *caught) Helper() {}

func (c *caught) Fatal(args ...any) {
	c.fatal = fmt.Sprint(args...)
	runtime.Goexit()
}

func (c *caught) Fatalf(format string, args ...any) { c.Fatal(fmt.Sprintf(format, args...)) }

func TestMistake_EndsTheTestAndSaysWhy(t *testing.T) {
	for want, mistake := range map[string]func(t testing.TB){
		"0 nodes asked for, it must be 1 to 15":  func(t testing.TB) { redlocktest.New(t, 0) },
		"16 nodes asked for, it must be 1 to 15": func(t testing.TB) { redlocktest.New(t, 16) },
		"ttl 1ns":                                func(t testing.TB) { redlocktest.New(t, 1, redlock.WithTTL(1)) },
		"Cut of node 3, they are 0 to 2":         func(t testing.TB) { redlocktest.New(t, 3).Cut(3) },
		"Hang of node -1":                        func(t testing.TB) { redlocktest.New(t, 3).Hang(-1) },
		"Stop of node 1, which is stopped: Restart it first": func(t testing.TB) {
			n := redlocktest.New(t, 3)
			n.Stop(1)
			n.Stop(1)
		},
		"Delay of node 1, which is stopped": func(t testing.TB) {
			n := redlocktest.New(t, 3)
			n.Stop(1)
			n.Process().Delay(time.Second, 1)
		},
		"a delay of -1s":      func(t testing.TB) { redlocktest.New(t, 1).Delay(-time.Second) },
		"campaigns already":   func(t testing.TB) { redlocktest.Leader(t).Run() },
		"does not campaign":   func(t testing.TB) { _ = redlocktest.New(t, 1).Replica().Stop() },
		"does not lead after": func(t testing.TB) { n := redlocktest.New(t, 1); n.Cut(); n.Replica().Lead() },
		"stop margin":         func(t testing.TB) { redlocktest.Leader(t, election.WithStopMargin(time.Hour)) },
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &caught{TB: t}
				done := make(chan struct{})
				go func() { // ends by Goexit, if the mistake is noticed
					defer close(done)
					mistake(c)
				}()
				<-done
				if !strings.Contains(c.fatal, want) || !strings.HasPrefix(c.fatal, "redlocktest: ") {
					t.Errorf("the test was ended by %q", c.fatal)
				}
			})
		})
	}
}

func TestMistake_AfterTheTestPanics(t *testing.T) {
	var late *redlocktest.Nodes
	t.Run("test", func(t *testing.T) { late = redlocktest.New(t, 1) })
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "Wipe after the end of TestMistake_AfterTheTestPanics/test") {
			t.Errorf("panicked with %v", v)
		}
	}()
	late.Wipe(0)
}
