//go:build unix

package redisproc_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// persisting are the args of a node whose data survives it.
var persisting = []string{"--appendonly", "yes", "--appendfsync", "always"}

func TestRestartFromBackup_ForgetsWhatCameAfterTheBackup(t *testing.T) {
	n := start(t, 1, persisting...).Node(0)
	r := client(t, n.Addr())
	for _, value := range []string{"oldest", "old"} {
		set(t, r, value)
		if err := n.Backup(); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 { // the backup outlasts its use
		set(t, r, "new")
		if err := errors.Join(n.Kill(), n.RestartFromBackup(t.Context())); err != nil {
			t.Fatal(err)
		}
		wantValue(t, n, "old")
	}

	if err := errors.Join(n.Kill(), n.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	wantValue(t, n, "old")
}

func TestBackup_CanBeTakenOfAKilledNode(t *testing.T) {
	n := start(t, 1, persisting...).Node(0)
	set(t, client(t, n.Addr()), "old")
	if err := errors.Join(n.Kill(), n.Backup(), n.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	set(t, client(t, n.Addr()), "new")

	if err := errors.Join(n.Kill(), n.RestartFromBackup(t.Context())); err != nil {
		t.Fatal(err)
	}
	wantValue(t, n, "old")
}

func TestRestartEmpty_ForgetsAllButTheBackup(t *testing.T) {
	n := start(t, 1, persisting...).Node(0)
	set(t, client(t, n.Addr()), "old")
	if err := errors.Join(n.Backup(), n.Kill(), n.RestartEmpty(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := client(t, n.Addr()).Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("key after an empty restart: %v, want %v", err, redis.Nil)
	}

	if err := errors.Join(n.Kill(), n.RestartFromBackup(t.Context())); err != nil {
		t.Fatal(err)
	}
	wantValue(t, n, "old")
}

func TestBackup_IsRefusedWhereNothingPersists(t *testing.T) {
	n := start(t, 1).Node(0)

	want.Text(t, n.Backup(), n.Addr())
}

func TestRestarts_LeaveTheDataOfANodeTheyRefuse(t *testing.T) {
	n := start(t, 1, persisting...).Node(0)
	set(t, client(t, n.Addr()), "v")
	want.Text(t, n.RestartEmpty(t.Context()), n.Addr(), "still running")
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	want.Text(t, n.RestartFromBackup(t.Context()), n.Addr(), "no backup")

	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantValue(t, n, "v")
}

func set(t *testing.T, r redis.UniversalClient, value string) {
	t.Helper()
	if err := r.Set(t.Context(), "k", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, n *redisproc.Node, want string) {
	t.Helper()
	if got, err := client(t, n.Addr()).Get(t.Context(), "k").Result(); got != want {
		t.Errorf("key on %s: %q, %v; want %s", n.Addr(), got, err, want)
	}
}
