//go:build unix

package redisproc_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// promotion is how long a test waits for one. Sentinels that were stalled pause for half a minute.
const promotion = 90 * time.Second

func TestStartFailover_GivesAMasterWithAReplicaUnderSentinels(t *testing.T) {
	f := startFailover(t, "--maxmemory", "64mb")
	through := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: f.Name(), SentinelAddrs: f.Sentinels(),
	})
	defer func() {
		if err := through.Close(); err != nil {
			t.Error(err)
		}
	}()

	set(t, through, "v")
	wantValue(t, f.Master(), "v")
	for _, n := range []*redisproc.Node{f.Master(), f.Replica()} {
		limit := client(t, n.Addr()).ConfigGet(t.Context(), "maxmemory").Val()
		if got := limit["maxmemory"]; got != "67108864" {
			t.Errorf("node %s has maxmemory %q, want the args on both", n.Addr(), got)
		}
	}
	err := client(t, f.Replica().Addr()).Set(t.Context(), "k", "new", 0).Err()
	if !redis.HasErrorPrefix(err, "READONLY") {
		t.Errorf("SET on the replica: %v, want READONLY", err)
	}
	if err := f.Replica().Backup(); err == nil {
		t.Error("the replica has a data file, want that it keeps none of its synchronization")
	}
	if got := len(f.Sentinels()); got != 3 {
		t.Errorf("%d sentinels, want 3", got)
	}
	for _, addr := range f.Sentinels() {
		s := redis.NewSentinelClient(&redis.Options{Addr: addr})
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		got, err := s.CkQuorum(t.Context(), f.Name()).Result()
		if !strings.HasPrefix(got, "OK 3 usable") {
			t.Errorf("sentinel %s: %q (%v), want OK with 3 usable", addr, got, err)
		}
	}
}

func TestPromoted_NamesTheReplicaWhenTheMasterIsGone(t *testing.T) {
	for how, remove := range map[string]func(*redisproc.Node) error{
		"killed": (*redisproc.Node).Kill,
		"hung":   (*redisproc.Node).Hang,
	} {
		t.Run(how, func(t *testing.T) {
			f := startFailover(t)
			setOnBoth(t, f, "v")
			waiting, enough := context.WithTimeout(t.Context(), short)
			defer enough()
			_, err := f.Promoted(waiting) // nothing changes
			want.Err(t, err, context.DeadlineExceeded)
			want.Text(t, err, f.Master().Addr())

			began := time.Now()
			if err := remove(f.Master()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), promotion)
			defer cancel()
			got, err := f.Promoted(ctx)
			if got != f.Replica().Addr() {
				t.Fatalf("promoted %q (%v), want the replica %s", got, err, f.Replica().Addr())
			}
			t.Logf("promoted after %v", time.Since(began))

			wantValue(t, f.Replica(), "v")
			if err := errors.Join(f.Replica().Kill(), f.Replica().Restart(t.Context())); err != nil {
				t.Fatal(err)
			}
			r := client(t, f.Replica().Addr())
			if err := r.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("key after a restart: %v, want %v", err, redis.Nil)
			}
			set(t, r, "of a node that is still the master")
		})
	}
}

func TestStartFailover_LeavesNothingWhenItsContextEnds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(t.Context(), 5*short) // the sentinels need longer
	defer cancel()

	_, err := redisproc.StartFailover(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the deadline", err)
	}
	wantEmpty(t, dir)
}

func TestFailoverClose_LeavesNoProcessAndNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f := startFailover(t)
	if err := errors.Join(f.Master().Hang(), f.Replica().Kill()); err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}

	for _, addr := range append(f.Sentinels(), f.Master().Addr(), f.Replica().Addr()) {
		if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial to %s after Close: %v, want refused", addr, err)
		}
	}
	wantEmpty(t, dir)
}

func startFailover(t *testing.T, args ...string) *redisproc.Failover {
	t.Helper()
	f, err := redisproc.StartFailover(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// setOnBoth returns when the replica has the value too.
func setOnBoth(t *testing.T, f *redisproc.Failover, value string) {
	t.Helper()
	conn := client(t, f.Master().Addr()).Conn() // WAIT is for the writes of its own connection
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := conn.Set(t.Context(), "k", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Wait(t.Context(), 1, long).Result(); n != 1 {
		t.Fatalf("%d replicas have the value (%v), want 1", n, err)
	}
}
