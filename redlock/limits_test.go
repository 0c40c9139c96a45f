package redlock_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/hostile"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A reply that announces more than fits in memory does not allocate it.
func TestOpen_RefusesAReplyThatWouldCostMuch(t *testing.T) {
	for _, says := range []string{"$4000000000\r\n", "*200000000\r\n", "$9223372036854775807\r\n"} {
		t.Run(says, func(t *testing.T) {
			l, err := redlock.Open([]string{hostile.Start(t, hostile.Says(says)).Addr})
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

// Newer servers deny CLIENT SETINFO to a user with minimal rights, and log each denial.
func TestClientOptions_SendNoNameOfTheClientLibrary(t *testing.T) {
	o, err := redlock.ClientOptions("r1:6379")
	if err != nil || !o.DisableIdentity {
		t.Errorf("%+v, %v", o, err)
	}
}
