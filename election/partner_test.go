package election_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
)

// What runs beside Run is called in each Run, also in one under way, and has returned when Run has. An Elector takes one such function.
func TestJoin_RunsBesideRun(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		early, late := c.candidate("a"), c.candidate("b")
		called, returned := 0, 0
		beside := func(a *candidate) {
			for i, want := range []string{"", "file:0"} {
				if got := inside.Join(a.Elector, inside.Partner{Where: fmt.Sprintf("file:%d", i), Beside: func(ctx context.Context) {
					called += 1 + 100*i
					<-ctx.Done()
					time.Sleep(time.Second)
					returned++
				}}); got != want {
					t.Errorf("call %d returns %q, want %q", i, got, want)
				}
			}
		}
		beside(early)
		early.run()
		late.run()
		synctest.Wait()
		beside(late)
		synctest.Wait()
		if called != 2 || returned != 0 {
			t.Errorf("called %d times, returned %d times", called, returned)
		}
		early.again()
		synctest.Wait()
		if called != 3 || returned != 1 {
			t.Errorf("in the next Run: called %d times, returned %d times", called, returned)
		}
	})
}
