//go:build unix

package redisproc_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

func TestRouter_SplitsAPipelineOnOneConnection(t *testing.T) {
	c := start(t, 2)
	for i := range 2 {
		set(t, client(t, c.Node(i).Addr()), []string{"first", "second"}[i])
	}
	router, err := redisproc.NewRouter(func(n int) []int {
		to := make([]int, n)
		for i := n / 2; i < n; i++ {
			to[i] = 1
		}
		return to
	}, c.Node(0), c.Node(1))
	if err != nil {
		t.Fatal(err)
	}
	conn := client(t, router.Addr()).Conn()
	defer func() { _ = conn.Close() }()
	for range 2 {
		cmds, err := conn.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 4 {
				pipe.MGet(t.Context(), "k", "no such key")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, cmd := range cmds {
			want := []string{"first", "second"}[i/2]
			if got := cmd.(*redis.SliceCmd).Val(); len(got) != 2 || got[0] != want || got[1] != nil {
				t.Errorf("command %d: %v, want %s", i, got, want)
			}
		}
	}

	if err := router.Close(); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ping(t.Context()).Err(); err == nil {
		t.Error("the connection outlived the router")
	}
	if _, err := net.Dial("tcp", router.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial to a closed router: %v, want refused", err)
	}
}
