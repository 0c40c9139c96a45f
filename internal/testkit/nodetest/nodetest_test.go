package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// bubble runs a test in a bubble of its own with n nodes and one process's links to them.
func bubble(t *testing.T, n int, test func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(n)
		t.Cleanup(c.Close)
		test(t, c, c.Links())
	})
}

// single returns a client of node 0 that tries once, obeys its context and has one open connection.
func single(t *testing.T, l *nodetest.Links) *redis.Client {
	t.Helper()
	opt := l.Options(0)
	opt.MaxRetries = -1
	opt.DialerRetries = 1
	opt.ContextTimeoutEnabled = true
	client := redis.NewClient(opt)
	t.Cleanup(func() { client.Close() })
	ok(t, client.Ping(t.Context()).Err())
	return client
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// took fails the test unless f takes exactly want.
func took(t *testing.T, want time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if got := time.Since(start); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

// has fails the test unless node i's value of key is want.
func has(t *testing.T, c *nodetest.Cluster, i int, key, want string) {
	t.Helper()
	if got, err := c.Node(i).Get(key); err != nil || got != want {
		t.Errorf("node %d has %s=%q (%v), want %q", i, key, got, err, want)
	}
}

func TestClients_ReachOneNodeEach(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		for i, client := range l.Clients() {
			ok(t, client.Set(t.Context(), "name", fmt.Sprintf("node %d", i), 0).Err())
			if got := client.(*redis.Client).Options().Addr; got != c.Addrs()[i] {
				t.Errorf("client %d has address %s, want %s", i, got, c.Addrs()[i])
			}
		}
		for i := range c.Addrs() {
			has(t, c, i, "name", fmt.Sprintf("node %d", i))
		}
	})
}

func TestClients_WorkInRealTime(t *testing.T) {
	c := nodetest.Start(2)
	defer c.Close()
	client := c.Links().Clients()[1]
	c.Delay(time.Millisecond)
	ok(t, client.Set(t.Context(), "k", "v", time.Hour).Err())
	has(t, c, 1, "k", "v")
	c.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	late := c.Links().Options(1)
	late.ContextTimeoutEnabled = true
	impatient := redis.NewClient(late)
	defer impatient.Close()
	if err := impatient.Ping(ctx).Err(); !isTimeout(err) {
		t.Errorf("ping of a hung node: %v, want a timeout", err)
	}
}

func TestNode_LargeValuesArriveWhole(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		want := strings.Repeat("0123456789", 100_000)
		ok(t, l.Clients()[0].Set(t.Context(), "k", want, 0).Err())
		got, err := l.Clients()[0].Get(t.Context(), "k").Result()
		ok(t, err)
		if got != want {
			t.Errorf("got %d bytes back, want the %d sent", len(got), len(want))
		}
	})
}

func TestNode_TTLFollowsTheBubblesClock(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		ok(t, client.Set(t.Context(), "k", "v", 10*time.Second).Err())
		time.Sleep(4 * time.Second)
		if got := client.PTTL(t.Context(), "k").Val(); got != 6*time.Second {
			t.Errorf("after 4s of 10s the TTL is %v, want 6s", got)
		}
		time.Sleep(6 * time.Second)
		if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("get after the TTL: %v, want redis.Nil", err)
		}
	})
}

func TestNode_RunsScriptsAndPubSub(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		sub := client.Subscribe(t.Context(), "news")
		defer sub.Close()
		_, err := sub.Receive(t.Context())
		ok(t, err)

		script := redis.NewScript(`return redis.call('PUBLISH', 'news', ARGV[1])`)
		sha, err := script.Load(t.Context(), client).Result()
		ok(t, err)
		if got := client.EvalSha(t.Context(), sha, nil, "hello").Val(); got != int64(1) {
			t.Errorf("the script reached %v subscribers, want 1", got)
		}
		message, err := sub.ReceiveMessage(t.Context())
		ok(t, err)
		if message.Payload != "hello" {
			t.Errorf("received %q, want hello", message.Payload)
		}
	})
}

func TestCut_BreaksConnectionsAndRefusesDials(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Hang(0)
		waiting := make(chan error)
		go func() { waiting <- client.Set(context.Background(), "k", "lost", 0).Err() }()
		synctest.Wait()
		took(t, 0, func() {
			l.Cut(0)
			if err := <-waiting; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("call under way: %v, want a reset", err)
			}
			if err := client.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("new call: %v, want refused", err)
			}
		})
		ok(t, l.Clients()[1].Ping(t.Context()).Err())
		l.Heal(0)
		ok(t, client.Ping(t.Context()).Err())
		if c.Node(0).Exists("k") {
			t.Error("the request that the cut lost took effect")
		}
	})
}

func TestCut_LeavesNoBrokenConnectionInThePool(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Cut()
		l.Heal()
		ok(t, client.Ping(t.Context()).Err()) // in one try, as with a socket
	})
}

func TestHang_TimesOutAndDeliversLate(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Hang()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		took(t, 100*time.Millisecond, func() {
			if err := client.Set(ctx, "k", "late", 0).Err(); !isTimeout(err) {
				t.Errorf("call to a hung node: %v, want a timeout", err)
			}
		})
		time.Sleep(time.Minute)
		if c.Node(0).Exists("k") {
			t.Error("a hung node handled a request")
		}
		l.Heal()
		synctest.Wait()
		has(t, c, 0, "k", "late")
		ok(t, client.Ping(t.Context()).Err())
	})
}

func TestHang_HoldsRepliesToo(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Delay(time.Second)
		took(t, 4*time.Second, func() {
			time.AfterFunc(1500*time.Millisecond, func() { l.Hang() })
			time.AfterFunc(4*time.Second, func() { l.Heal() })
			ok(t, client.Incr(t.Context(), "n").Err())
		})
		has(t, c, 0, "n", "1")
	})
}

func TestHang_AcceptsNewConnectionsButAnswersNothing(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		l.Hang()
		opt := l.Options(0)
		opt.MaxRetries = -1
		client := redis.NewClient(opt)
		defer client.Close()
		took(t, 5*time.Second, func() { // the default read timeout
			if err := client.Ping(t.Context()).Err(); !isTimeout(err) {
				t.Errorf("first call to a hung node: %v, want a timeout", err)
			}
		})
	})
}

func TestDelay_IsExactInEachDirectionAndKeepsOrder(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Delay(50 * time.Millisecond)
		took(t, 100*time.Millisecond, func() { ok(t, client.Ping(t.Context()).Err()) })
		c.Delay(25*time.Millisecond, 0)
		took(t, 150*time.Millisecond, func() { ok(t, client.Ping(t.Context()).Err()) })

		conn, err := l.Options(0).Dialer(t.Context(), "tcp", "")
		ok(t, err)
		defer conn.Close()
		want := new(strings.Builder)
		took(t, 150*time.Millisecond+99*time.Millisecond, func() {
			for i := range 100 {
				if i > 0 {
					time.Sleep(time.Millisecond)
				}
				_, err := fmt.Fprintf(conn, "*2\r\n$4\r\nECHO\r\n$2\r\n%02d\r\n", i)
				ok(t, err)
				fmt.Fprintf(want, "$2\r\n%02d\r\n", i)
			}
			got := make([]byte, want.Len())
			_, err := io.ReadFull(conn, got)
			ok(t, err)
			if string(got) != want.String() {
				t.Errorf("replies %q are not in the order of the requests", got)
			}
		})
	})
}

func TestDropReplies_LosesTheReplyNotTheEffect(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.DropReplies()
		for try := range 3 { // first on the open connection, then on new ones
			if err := client.Incr(t.Context(), "n").Err(); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("call %d: %v, want a reset", try, err)
			}
			has(t, c, 0, "n", fmt.Sprint(try+1))
		}
		l.Heal()
		if n := client.Incr(t.Context(), "n").Val(); n != 4 {
			t.Errorf("healed: counter at %d, want 4", n)
		}
	})
}

func TestKill_KeepsDataAndForgetsScripts(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		sha, err := client.ScriptLoad(t.Context(), "return 1").Result()
		ok(t, err)
		c.Kill(0)
		c.Heal()
		if err := client.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("call to a dead node: %v, want refused", err)
		}
		c.Restart(0)
		if got := client.Get(t.Context(), "k").Val(); got != "v" {
			t.Errorf("restarted node has k=%q, want v", got)
		}
		if err := client.EvalSha(t.Context(), sha, nil).Err(); !errors.Is(err, redis.ErrNoScript) {
			t.Errorf("script after a restart: %v, want %v", err, redis.ErrNoScript)
		}
	})
}

func TestWipe_ForgetsDataOfOneNode(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		for _, client := range l.Clients() {
			ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		}
		c.Wipe(0)
		if err := l.Clients()[0].Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("get from the wiped node: %v, want redis.Nil", err)
		}
		has(t, c, 1, "k", "v")
	})
}

func TestLinks_FailApart(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		mine, theirs := single(t, l), single(t, c.Links())
		l.Cut()
		if err := mine.Ping(t.Context()).Err(); err == nil {
			t.Error("a cut link answered")
		}
		ok(t, theirs.Ping(t.Context()).Err())
		l.Heal()
		c.Cut()
		for _, client := range []*redis.Client{mine, theirs} {
			if err := client.Ping(t.Context()).Err(); err == nil {
				t.Error("a node cut off for everybody answered")
			}
		}
		l.Cut()
		c.Heal() // ends both
		ok(t, mine.Ping(t.Context()).Err())
		ok(t, theirs.Ping(t.Context()).Err())
	})
}

func TestLinks_DeliverAfterTheirProcessEnded(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		ok(t, client.Ping(t.Context()).Err())
		c.Hang()
		var call sync.WaitGroup
		call.Go(func() { client.Set(context.Background(), "k", "late", 0) })
		synctest.Wait()
		l.Close()
		call.Wait()
		if c.Node(0).Exists("k") {
			t.Error("a hung node handled a request")
		}
		c.Heal()
		synctest.Wait()
		has(t, c, 0, "k", "late")
	})
}

func TestClose_LeavesNothingBehindUnderAnyFault(t *testing.T) {
	faults := map[string]func(*nodetest.Cluster){
		"none": func(c *nodetest.Cluster) {},
		"cut":  func(c *nodetest.Cluster) { c.Cut() },
		"hang": func(c *nodetest.Cluster) { c.Hang() },
		"slow": func(c *nodetest.Cluster) { c.Delay(time.Hour) },
		"deaf": func(c *nodetest.Cluster) { c.DropReplies() },
		"dead": func(c *nodetest.Cluster) { c.Kill(0) },
	}
	for name, set := range faults {
		t.Run(name, func(t *testing.T) {
			// The bubble itself fails on a goroutine that is left, here go-redis's dialers too.
			synctest.Test(t, func(t *testing.T) {
				c := nodetest.Start(2)
				l := c.Links()
				ok(t, l.Clients()[0].Ping(t.Context()).Err())
				set(c)
				done := make(chan struct{})
				// No more calls than the pool has connections: go-redis keeps the timers of callers that
				// wait for one in a global pool, and the next bubble would find this bubble's there.
				calls := min(20, 10*runtime.GOMAXPROCS(0))
				for i := range calls {
					go func() {
						ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
						defer cancel()
						l.Clients()[i%2].Incr(ctx, "n") // may fail: what it leaves behind counts
						done <- struct{}{}
					}()
				}
				time.Sleep(60 * time.Millisecond)
				c.Close()
				for range calls {
					<-done
				}
				if err := l.Clients()[0].Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
					t.Errorf("call after Close: %v, want %v", err, redis.ErrClosed)
				}
				_, err := l.Options(0).Dialer(t.Context(), "tcp", "")
				if !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("dial after Close: %v, want refused", err)
				}
			})
		})
	}
}

func TestClose_WaitsForTheScriptUnderWay(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		c.SetPreHook(0, func(_ *server.Peer, cmd string, _ ...string) bool {
			if cmd == "EVAL" {
				time.Sleep(time.Second)
			}
			return false
		})
		var call sync.WaitGroup
		call.Go(func() {
			l.Clients()[0].Eval(context.Background(), `return redis.call('SET', 'k', 'v')`, nil)
		})
		synctest.Wait()
		took(t, time.Second, c.Close)
		call.Wait()
		has(t, c, 0, "k", "v")
	})
}

func TestConn_KeepsTheContractOfNetConn(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		conn, err := l.Options(0).Dialer(t.Context(), "tcp", "")
		ok(t, err)
		if got := conn.RemoteAddr().String(); got != c.Addrs()[0] {
			t.Errorf("remote address %s, want %s", got, c.Addrs()[0])
		}
		buf := make([]byte, 3) // shorter than any reply
		took(t, time.Second, func() {
			ok(t, conn.SetReadDeadline(time.Now().Add(time.Second)))
			if _, err := conn.Read(buf); !isTimeout(err) {
				t.Errorf("read: %v, want a timeout", err)
			}
		})
		took(t, time.Second, func() { // a deadline moved under a waiting Read
			ok(t, conn.SetDeadline(time.Time{}))
			time.AfterFunc(time.Second, func() { conn.SetDeadline(time.Now()) })
			if _, err := conn.Read(buf); !isTimeout(err) {
				t.Errorf("read: %v, want a timeout", err)
			}
		})
		ok(t, conn.SetDeadline(time.Time{}))
		_, err = conn.Write([]byte("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n"))
		ok(t, err)
		reply := new(strings.Builder)
		_, err = io.CopyBuffer(reply, conn, buf)
		ok(t, err)
		if want := "+PONG\r\n+OK\r\n"; reply.String() != want {
			t.Errorf("reply %q, want %q", reply, want)
		}
		ok(t, conn.Close())
		if _, err := conn.Read(buf); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after Close: %v, want %v", err, net.ErrClosed)
		}
		if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second Close: %v, want %v", err, net.ErrClosed)
		}
	})
}

// isTimeout tells a timeout of the connection or of the context.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestRaw_SeesNodesPastEveryFault(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		raw := c.Raw()
		c.Hang(0)
		c.Kill(1)
		for i, node := range raw {
			if err := node.Set(t.Context(), "x", "y", 0).Err(); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
			if n := c.Requests(i); n != 0 {
				t.Errorf("node %d counts %d requests", i, n)
			}
		}
		if c.Raw()[0] != raw[0] {
			t.Error("another client at the second call")
		}
		c.Restart(1)
		if got, err := l.Clients()[1].Get(t.Context(), "x").Result(); err != nil || got != "y" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
