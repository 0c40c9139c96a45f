package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
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

const loading = "LOADING Redis is loading the dataset in memory"

func TestAnswer_IsAllThatRequestsGet(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		for _, text := range []string{
			loading,
			"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
			"READONLY You can't write against a read only replica.",
			"OOM command not allowed when used memory > 'maxmemory'.",
			"NOPERM this user has no permissions to run the 'evalsha' command",
		} {
			l.Answer(text, 0)
			cmds, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
				p.Set(t.Context(), "k", "v", 0)
				p.Eval(t.Context(), `return redis.call('SET', 'k', 'v')`, nil)
				p.Ping(t.Context())
				return nil
			})
			if err == nil || len(cmds) != 3 {
				t.Errorf("%d commands: %v, want 3 and an error", len(cmds), err)
			}
			for _, cmd := range cmds {
				if err := cmd.Err(); err == nil || err.Error() != text {
					t.Errorf("%s: %v, want %s", cmd.Name(), err, text)
				}
			}
			ok(t, client.Info(t.Context()).Err())
			if c.Node(0).Exists("k") {
				t.Error("a refused request took effect")
			}
		}
		ok(t, l.Clients()[1].Ping(t.Context()).Err())
		c.Heal(0)
		ok(t, client.Set(t.Context(), "k", "v", 0).Err())
	})
}

func TestTear_HalvesTheReplyAndBreaksTheConnection(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		conn, err := l.Options(0).Dialer(t.Context(), "tcp", "")
		ok(t, err)
		defer conn.Close()
		l.Tear()
		_, err = conn.Write([]byte("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n*1\r\n$4\r\nPING\r\n"))
		ok(t, err)
		got, err := io.ReadAll(iotest.OneByteReader(conn))
		if string(got) != "$2\r\n" || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read %q and %v, want half of the first reply and a reset", got, err)
		}
	})
}
