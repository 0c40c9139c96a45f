package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

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
