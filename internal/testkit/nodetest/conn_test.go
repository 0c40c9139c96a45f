package nodetest_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

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
