package quorum_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// What was not sent needs no cleaning, and what may have been done must not go without.
func TestNature_SaysWhetherTheNodeMayHaveActed(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  func(c *bubble.Cluster, client *redis.Options)
		client func(*redis.Options) redis.UniversalClient // nil: clientOf
		first  bool                                       // the fault is there when the node is first reached
		judge  func(int, quorum.Answer[string]) error     // of the inspection; nil: there is none
		nature error
		text   string
		code   string // of the refusal
	}{
		{name: "a refused dial", fault: func(c *bubble.Cluster, _ *redis.Options) { c.Cut() }, first: true,
			nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a dial without an answer", fault: func(_ *bubble.Cluster, client *redis.Options) {
			client.Dialer = func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(time.Second) // go-redis goes on dialing when nobody waits for it
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
			}
		}, first: true, nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a refused dial of a ring", client: ringOf, fault: func(c *bubble.Cluster, _ *redis.Options) { c.Cut() }, first: true,
			nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a refused dial of a cluster", client: clusterOf, fault: func(c *bubble.Cluster, _ *redis.Options) { c.Cut() }, first: true,
			nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a connection that breaks in its setup", fault: func(_ *bubble.Cluster, client *redis.Options) {
			client.Dialer = func(context.Context, string, string) (net.Conn, error) {
				conn, _ := net.Pipe()
				return broken{conn}, nil
			}
		}, first: true, nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a refused setup", fault: func(c *bubble.Cluster, client *redis.Options) {
			client.DB = 1
			c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool {
				if cmd == "SELECT" {
					p.WriteError("BUSY Redis is busy running a script")
				}
				return cmd == "SELECT"
			})
		}, first: true, nature: quorum.ErrUnsent, text: "not sent: ", code: refusal.Busy},
		{name: "a process that does not run", fault: func(*bubble.Cluster, *redis.Options) { stopped.Store(true) },
			client: lateOf, nature: quorum.ErrPerhapsDone, text: "perhaps done: this process had no processor in time"},
		{name: "a hook that takes long", fault: func(*bubble.Cluster, *redis.Options) {}, first: true,
			client: slowOf, nature: quorum.ErrUnsent, text: "not sent: this process had no processor in time, or a hook"},
		{name: "a dial without an end", fault: func(_ *bubble.Cluster, client *redis.Options) {
			client.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}, first: true, nature: quorum.ErrUnsent, text: "not sent: no connection in time: "},
		{name: "an unfit node", fault: func(*bubble.Cluster, *redis.Options) {}, first: true,
			judge:  func(int, quorum.Answer[string]) error { return errors.New("it is a replica") },
			nature: quorum.ErrUnsent, text: "not sent: it is a replica"},
		{name: "a hung inspection", fault: func(c *bubble.Cluster, _ *redis.Options) { c.Hang() }, first: true, judge: fit,
			nature: quorum.ErrUnsent, text: "not sent: the inspection before it failed: "},
		{name: "a hung node", fault: func(c *bubble.Cluster, _ *redis.Options) { c.Hang() },
			nature: quorum.ErrPerhapsDone, text: "perhaps done: "},
		{name: "a lost reply", fault: func(c *bubble.Cluster, _ *redis.Options) { c.DropReplies() },
			nature: quorum.ErrPerhapsDone, text: "perhaps done: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, cluster *bubble.Cluster) {
				options := cluster.Links().Options(0)
				if c.first {
					c.fault(cluster, options)
				}
				client := clientOf
				if c.client != nil {
					client = c.client
				}
				q := startOn(cluster, client(options), c.judge)
				if !c.first {
					if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
						t.Fatal(a.Err, err)
					}
					synctest.Wait()
					c.fault(cluster, options)
				}
				a := askUntilOver(t, q)
				if !errors.Is(a.Err, c.nature) || !strings.HasPrefix(a.Err.Error(), c.text) {
					t.Errorf("%v, want %v", a.Err, c.nature)
				}
				if code := refusal.Code(a.Err); code != c.code {
					t.Errorf("%v has the code %q, want %q", a.Err, code, c.code)
				}
				if isHere := strings.Contains(a.Err.Error(), "this process"); isHere && q.Slow(0) {
					t.Error("the node is blamed")
				}
				if errors.Is(a.Err, quorum.ErrUnsent) && errors.Is(a.Err, quorum.ErrPerhapsDone) {
					t.Errorf("%v has both natures", a.Err)
				}
			})
		})
	}
}

// runsOn is a hook whose calls return when the context ends, while the rest of the client runs on until the hook is open.
type runsOn struct{ open chan struct{} }

func (runsOn) DialHook(next redis.DialHook) redis.DialHook { return next }
func (runsOn) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h runsOn) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		done := make(chan error, 1)
		go func() { // ends when the test opens the hook
			<-h.open
			done <- next(context.WithoutCancel(ctx), cmd)
		}()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// slowOf returns a client with a hook that takes long.
func slowOf(o *redis.Options) redis.UniversalClient {
	o.ContextTimeoutEnabled = true // the client is used as it is
	client := redis.NewClient(o)
	client.AddHook(slow{})
	return client
}

type slow struct{}

func (slow) DialHook(next redis.DialHook) redis.DialHook { return next }
func (slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(3 * timeout)
		return next(ctx, cmd)
	}
}

// A caller does not wait until it is known why its call was not sent, but it is told that it was not.
func TestNature_ACallThatIsNotSentInTimeSaysSo(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		q := startOn(c, slowOf(c.Links().Options(0)), nil)
		a, err := askNode(t, q, counting())
		if err != nil || !errors.Is(a.Err, quorum.ErrNoAnswer) || !strings.HasPrefix(a.Err.Error(), "not sent in time: ") {
			t.Errorf("%v, %v", a.Err, err)
		}
	})
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		q := startOn(c, clientOf(c.Links().Options(0)), nil)
		if a := askUntilOver(t, q); a.Err != nil {
			t.Fatal(a.Err)
		}
		c.Hang()
		if a, err := askNode(t, q, counting()); err != nil || a.Err.Error() != quorum.ErrNoAnswer.Error() && !errors.Is(a.Err, quorum.ErrPerhapsDone) {
			t.Errorf("%v, %v", a.Err, err)
		}
	})
}

// A command that the client goes on with when nobody waits for it is not the next call's.
func TestNature_WhatWasNotSentIsNeverSent(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		hook := runsOn{make(chan struct{})}
		ring := ringOf(c.Links().Options(0))
		q := startOn(c, ring, nil)
		if a := askUntilOver(t, q); a.Err != nil { // loads the script
			t.Fatal(a.Err)
		}
		ring.AddHook(hook)
		if a := askUntilOver(t, q); !errors.Is(a.Err, quorum.ErrUnsent) {
			t.Fatalf("%v, want %v", a.Err, quorum.ErrUnsent)
		}
		r := quorum.Prepare(q, 0, counting())
		r.Send()
		synctest.Wait() // its command is made, and waits in the hook as well
		close(hook.open)
		synctest.Wait()
		if a := askUntilOver(t, q); a.Err != nil || a.Value != 3 {
			t.Errorf("%d, %v, want the third count", a.Value, a.Err)
		}
	})
}

func ringOf(o *redis.Options) redis.UniversalClient {
	return redis.NewRing(&redis.RingOptions{
		Addrs:     map[string]string{"a": o.Addr},
		NewClient: func(*redis.Options) *redis.Client { return redis.NewClient(o) },
	})
}

func clusterOf(o *redis.Options) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{o.Addr}, Dialer: o.Dialer})
}

// broken is a connection that the server closed at once.
type broken struct{ net.Conn }

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// late is a connection of a process that does not run, once it has stopped, when its deadline comes.
type late struct{ net.Conn }

var stopped atomic.Bool

func (c late) Read(p []byte) (int, error) {
	if !stopped.Load() {
		return c.Conn.Read(p)
	}
	stopped.Store(false)
	time.Sleep(3 * timeout)
	return 0, os.ErrDeadlineExceeded
}

func lateOf(o *redis.Options) redis.UniversalClient {
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return late{conn}, err
	}
	return redis.NewClient(o)
}

func clientOf(o *redis.Options) redis.UniversalClient { return redis.NewClient(o) }

var inspecting = quorum.NewScript("inspect", `return '1 1 a'`, func(*quorum.Reply) (string, error) {
	return "", nil
}).Command(1, nil, "n")

// startOn makes a Quorum of one node, with a client of its own. Both are closed at the end.
func startOn(c *bubble.Cluster, client redis.UniversalClient, judge func(int, quorum.Answer[string]) error) *quorum.Quorum {
	c.T.Cleanup(func() {
		_ = client.Close()
		time.Sleep(time.Minute) // it keeps dialing for a while
	})
	config := config()
	if judge != nil {
		config.Inspection = quorum.NewInspection(inspecting.Call(nil), judge, nil)
	}
	q := quorum.New([]redis.UniversalClient{client}, c.Addrs(), config)
	c.T.Cleanup(func() {
		c.Heal()
		if err := q.Close(context.Background()); err != nil {
			c.T.Error(err)
		}
	})
	return q
}

// askUntilOver asks the node, and waits until the call has ended, which may be after the timeout.
func askUntilOver(t *testing.T, q *quorum.Quorum) (over answer) {
	t.Helper()
	r := quorum.Prepare(q, 0, counting())
	r.Send()
	done := make(chan answer, 1)
	r.Then(func(_ int, a answer) { done <- a })
	select {
	case over = <-done:
	case <-time.After(time.Minute):
		t.Fatal("the call never ends")
	}
	return over
}

func fit(int, quorum.Answer[string]) error { return nil }

// A request sent before the connection broke may have been executed, or may still be.
func TestNode_WhatIsSentTwiceSaysSo(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.DropReplies(0)
		a, err := askNode(t, q, counting())
		if err != nil || a.Err == nil || !a.Resent {
			t.Errorf("without a reply: %+v, %v, want an error, and that it was sent again", a, err)
		}
		c.Heal()
		a, err = askNode(t, q, counting())
		if err != nil || a.Err != nil || a.Value != 4 || a.Resent {
			t.Errorf("then %+v, %v, want the fourth count, sent once", a, err)
		}
	})
}

// Sentinel's client closes its connections when the master changes. What is dialed beside its pool, for one call that met
// a broken connection, must not outlive that call.
func TestNature_ASharedPoolIsUsedAgainAfterABrokenConnection(t *testing.T) {
	nodes := nodetest.Start(1)
	defer nodes.Close()
	options := nodes.Links().Options(0)
	options.Addr = quorum.Failover
	client := redis.NewClient(options)
	q := quorum.New([]redis.UniversalClient{client}, nodes.Addrs(), config())
	if a := askUntilOver(t, q); a.Err != nil { // loads the script
		t.Fatal(a.Err)
	}
	var once sync.Once
	nodes.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) (breaks bool) {
		if cmd == "EVALSHA" {
			once.Do(func() { p.Close(); breaks = true })
		}
		return breaks
	})
	if a := askUntilOver(t, q); a.Err != nil || !a.Resent {
		t.Errorf("sent again %v, %v", a.Resent, a.Err)
	}
	before := client.PoolStats()
	if a := askUntilOver(t, q); a.Err != nil {
		t.Error(a.Err)
	}
	if now := client.PoolStats(); now.Hits+now.Misses == before.Hits+before.Misses {
		t.Error("the pool is not used again")
	}
	if err := errors.Join(q.Close(context.Background()), client.Close()); err != nil {
		t.Error(err)
	}
}
