package redlock_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A router that has forgotten a quiet connection is noticed within half a minute.
func TestClientOptions_KeepsConnectionsAlive(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	want.NoError(t, err)
	defer func() { _ = listener.Close() }()
	o, err := redlock.ClientOptions(listener.Addr().String())
	want.NoError(t, err)
	conn, err := o.Dialer(t.Context(), "tcp", o.Addr)
	want.NoError(t, err)
	defer func() { _ = conn.Close() }()
	raw, err := conn.(syscall.Conn).SyscallConn()
	want.NoError(t, err)
	err = raw.Control(func(fd uintptr) {
		for option, limit := range map[int]int{syscall.TCP_KEEPIDLE: 15, syscall.TCP_KEEPINTVL: 5, syscall.TCP_KEEPCNT: 3} {
			if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option); err != nil || got > limit {
				t.Errorf("option %d is %d, %v, want %d at most", option, got, err, limit)
			}
		}
	})
	want.NoError(t, err)
}
