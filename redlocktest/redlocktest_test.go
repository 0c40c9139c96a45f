package redlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

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
		want.Err(t, <-ended, election.ErrLost)
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

func TestNew_WithoutARestartGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithoutRestartGuard())
		if _, err := nodes.Process().Locker().TryAcquire(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	})
}

func TestStart_NeedsNoTest(t *testing.T) {
	// In real time a busy machine may take long to answer.
	nodes, err := redlocktest.Start(3, redlock.WithTTL(time.Minute), redlock.WithNodeTimeout(10*time.Second))
	want.NoError(t, err)
	p := nodes.Process()
	lease, err := p.Locker().TryAcquire(t.Context(), "held until Close")
	want.NoError(t, err)
	leader := nodes.Replica()
	leader.Lead()
	p.Hang() // Close does not wait for that
	nodes.Close()
	nodes.Close()
	if lease.Valid() || leader.Elector.IsLeader() {
		t.Errorf("closed nodes have left a lease (%v) or a leader (%v)", lease.Valid(), leader.Elector.IsLeader())
	}
}

// Each fault has the effect that its name says on a process that tries to get a lock.
func TestNodes_Fail(t *testing.T) {
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
		"wiped":        {func(n *redlocktest.Nodes) { n.Wipe(0); n.Wipe(1) }, redlock.ErrGuarded}, // for a person: see docs/growing.md
		"all wiped":    {func(n *redlocktest.Nodes) { n.Wipe(0); n.Wipe(1); n.Wipe(2) }, redlock.ErrGuarded},
		"one is away":  {func(n *redlocktest.Nodes) { n.Stop(0) }, nil},
		"healed":       {func(n *redlocktest.Nodes) { n.Cut(); n.Heal() }, nil},
		"clocks ahead": {func(n *redlocktest.Nodes) { n.Jump(0, time.Second); n.Jump(1, 2*time.Second) }, redlock.ErrNoQuorum},
		"set back":     {func(n *redlocktest.Nodes) { n.Jump(0, -time.Hour); n.Jump(1, -time.Hour) }, nil},
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
				if !errors.Is(err, test.want) {
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
		_, err := a.Locker().TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
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

// failure returns the sentence that a mistake fails a test with.
func failure(t *testing.T, mistake func(t testing.TB)) string {
	c := &caught{TB: t}
	done := make(chan struct{})
	go func() { // ends by Goexit, if the mistake is noticed
		defer close(done)
		mistake(c)
	}()
	<-done
	return c.fatal
}

// panicked returns the sentence that a mistake panics with.
func panicked(mistake func()) (sentence string) {
	defer func() { sentence = fmt.Sprint(recover()) }()
	mistake()
	return ""
}

func TestNew_RefusesWhatMakesNoSense(t *testing.T) {
	for sentence, arg := range map[string]struct {
		n    int
		opts []redlock.Option
	}{
		"redlocktest: 0 nodes, the number must be 1 to 15":  {n: 0},
		"redlocktest: 16 nodes, the number must be 1 to 15": {n: 16},
		"redlocktest: redlock: config: ttl 1ns":             {n: 1, opts: []redlock.Option{redlock.WithTTL(1)}},
	} {
		_, err := redlocktest.Start(arg.n, arg.opts...)
		want.Text(t, err, sentence)
		want.Parts(t, "New", failure(t, func(t testing.TB) { redlocktest.New(t, arg.n, arg.opts...) }), sentence)
	}
}

// A mistake fails the test; where there is none, it panics.
func TestMistake_SaysWhy(t *testing.T) {
	for sentence, mistake := range map[string]func(n *redlocktest.Nodes){
		"Cut of node 3, but nodes are 0 to 2":                func(n *redlocktest.Nodes) { n.Cut(3) },
		"Hang of node -1":                                    func(n *redlocktest.Nodes) { n.Hang(-1) },
		"Stop of node 1, which is stopped: Restart it first": func(n *redlocktest.Nodes) { n.Stop(1); n.Stop(1) },
		"Delay of node 1, which is stopped": func(n *redlocktest.Nodes) {
			n.Stop(1)
			n.Process().Delay(time.Second, 1)
		},
		"Delay of -1s":        func(n *redlocktest.Nodes) { n.Delay(-time.Second) },
		"campaigns already":   func(n *redlocktest.Nodes) { r := n.Replica(); r.Lead(); r.Run() },
		"does not campaign":   func(n *redlocktest.Nodes) { _ = n.Replica().Stop() },
		"does not lead after": func(n *redlocktest.Nodes) { n.Cut(); n.Replica().Lead() },
		"stop margin":         func(n *redlocktest.Nodes) { n.Replica(election.WithStopMargin(time.Hour)) },
		"ttl 1ns":             func(n *redlocktest.Nodes) { n.Process().Locker(redlock.WithTTL(1)) },
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				why := failure(t, func(t testing.TB) { mistake(redlocktest.New(t, 3)) })
				want.Parts(t, "New", why, "redlocktest: ", sentence)
				nodes, err := redlocktest.Start(3)
				want.NoError(t, err)
				defer nodes.Close()
				why = panicked(func() { mistake(nodes) })
				want.Parts(t, "Start", why, "redlocktest: ", sentence)
			})
		})
	}
}

func TestMistake_AfterTheTestPanics(t *testing.T) {
	var late *redlocktest.Nodes
	t.Run("test", func(t *testing.T) { late = redlocktest.New(t, 1) })
	want.Parts(t, "New", panicked(func() { late.Wipe(0) }),
		"Wipe after the nodes of TestMistake_AfterTheTestPanics/test were closed")
	late, err := redlocktest.Start(1)
	want.NoError(t, err)
	late.Close()
	want.Parts(t, "Start", panicked(func() { late.Wipe(0) }), "Wipe after the nodes of this program were closed")
}
