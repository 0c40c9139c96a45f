package redlock_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// babbler is a server that answers whatever it is asked with one text.
func babbler(t *testing.T, says string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() { // ends when the listener is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { // ends when the client closes the connection
				defer c.Close()
				for p := make([]byte, 4096); ; {
					if _, err := c.Read(p); err != nil {
						return
					}
					if _, err := c.Write([]byte(says)); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		conns.Wait()
	})
	return l.Addr().String()
}

// A reply that announces more than anybody has memory for costs none.
func TestOpen_RefusesAReplyThatWouldCostMuch(t *testing.T) {
	for _, says := range []string{"$4000000000\r\n", "*200000000\r\n", "$9223372036854775807\r\n"} {
		t.Run(says, func(t *testing.T) {
			addr := babbler(t, says)
			l, err := redlock.Open([]string{addr})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				if err := l.Close(ctx); err != nil {
					t.Error(err)
				}
			}()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = l.Holder(t.Context(), "lock")
			runtime.ReadMemStats(&after)
			want.Err(t, err, redlock.ErrNoQuorum)
			want.Text(t, err, "the reply of the server is refused")
			if took := after.TotalAlloc - before.TotalAlloc; took > 50<<20 {
				t.Errorf("%d MB were set aside", took>>20)
			}
		})
	}
}

// A user that may do no more than it must is denied CLIENT SETINFO by newer servers, and each denial is logged there.
func TestClientOptions_SendNoNameOfTheClientLibrary(t *testing.T) {
	o, err := redlock.ClientOptions("r1:6379")
	if err != nil || !o.DisableIdentity {
		t.Errorf("%+v, %v", o, err)
	}
}
