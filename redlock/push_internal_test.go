package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// Names for which nobody waits are forgotten when they are many. One of them that somebody waits for again
// before the nodes were told is confirmed as any other: else each who waits for it waits the node timeout
// for that.
func TestPush_ConfirmsANameThatWasJustForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(3)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		for i := range maxIdle {
			l.push.join(fmt.Sprint(i)).leave()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		other, again := l.push.join("another"), l.push.join("7")
		time.Sleep(time.Second)
		for name, n := range map[string]*news{"another": other, "7": again} {
			select {
			case <-n.ready:
			default:
				t.Errorf("%q is not confirmed", name)
			}
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
