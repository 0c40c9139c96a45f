package nodetest_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

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

func TestAnswer_HoldsForNewConnections(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		c.Answer(loading)
		c.Restart(0)
		if err := client.Ping(t.Context()).Err(); err == nil || err.Error() != loading {
			t.Errorf("ping: %v, want %s", err, loading)
		}
	})
}

func TestAnswer_OfTheLinksGoesBeforeTheClusters(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		mine, theirs := single(t, l), single(t, c.Links())
		l.Answer("ERR mine")
		ok(t, theirs.Ping(t.Context()).Err())
		c.Answer("ERR everybody's")
		for want, client := range map[string]*redis.Client{"ERR mine": mine, "ERR everybody's": theirs} {
			if err := client.Ping(t.Context()).Err(); err == nil || err.Error() != want {
				t.Errorf("ping: %v, want %s", err, want)
			}
		}
	})
}

func TestAnswer_IsGivenWhenTheRequestArrives(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Delay(time.Second)
		time.AfterFunc(time.Second/2, func() { l.Answer(loading) })
		took(t, 2*time.Second, func() {
			if err := client.Incr(t.Context(), "n").Err(); err == nil || err.Error() != loading {
				t.Errorf("incr: %v, want %s", err, loading)
			}
		})
		l.Heal()
		l.Delay(time.Second)
		time.AfterFunc(time.Second*3/2, func() { l.Answer(loading) }) // the reply is under way
		if n := client.Incr(t.Context(), "n").Val(); n != 1 {
			t.Errorf("counter at %d, want 1", n)
		}
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

func TestTear_LosesTheReplyNotTheEffect(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		long := strings.Repeat("0123456789", 100_000)
		c.Tear(0)
		for try := range 3 { // first on the open connection, then on new ones
			if err := client.Incr(t.Context(), "n").Err(); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("call %d: %v, want a reset", try, err)
			}
			has(t, c, 0, "n", fmt.Sprint(try+1))
			script := `redis.call('SET', 'k', ARGV[1]) return {ARGV[1], ARGV[1]}`
			err := client.Eval(t.Context(), script, nil, long).Err()
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("long reply %d: %v, want a reset", try, err)
			}
			has(t, c, 0, "k", long)
		}
		c.Heal()
		if n := client.Incr(t.Context(), "n").Val(); n != 4 {
			t.Errorf("healed: counter at %d, want 4", n)
		}
	})
}
