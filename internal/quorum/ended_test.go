package quorum_test

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// ended is a connection that the kernel may have given up: it then fails with that error. Like one with TLS, it does not show that
// before it is used.
type ended struct {
	net.Conn
	with *atomic.Pointer[syscall.Errno]
}

func (c ended) Write(b []byte) (int, error) {
	if errno := c.with.Load(); errno != nil {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", *errno)}
	}
	return c.Conn.Write(b)
}

// A quiet connection whose other end is gone, or cannot be reached, fails when the kernel's probes have failed. Another one works.
func TestNode_IsAskedAgainWhenTheKernelHasEndedAQuietConnection(t *testing.T) {
	for _, errno := range []syscall.Errno{
		syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		t.Run(errno.Error(), func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
				o := c.Links().Options(0)
				dial, all := o.Dialer, []ended(nil)
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := dial(ctx, network, addr)
					all = append(all, ended{conn, new(atomic.Pointer[syscall.Errno])})
					return all[len(all)-1], err
				}
				q := startOn(c, redis.NewClient(o), fit)
				for range 2 {
					if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
						t.Fatal(a, err)
					}
					time.Sleep(time.Minute)
					for _, conn := range all {
						conn.with.Store(&errno)
					}
				}
			})
		})
	}
}
