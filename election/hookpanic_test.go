package election_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

// A hook panics while somebody recovers from the panic of Run, or ends the goroutine of Run.
func TestHooks_OneThatDoesNotReturnLeavesNoLeaderBehind(t *testing.T) {
	for end, leave := range map[string]func(){
		"panic":  func() { panic("hook") },
		"goexit": runtime.Goexit,
	} {
		for what, hooks := range map[string]election.Hooks{
			"attempt": {Attempt: func(time.Duration, error) { leave() }},
			"elected": {Elected: func(*election.Term) { leave() }},
			"renewed": {Renewed: func(*election.Term, int, time.Duration, error) { leave() }},
			"ended":   {Ended: func(*election.Term, error) { leave() }},
			"drained": {Drained: func(*election.Term, time.Duration, bool) { leave() }},
		} {
			t.Run(what+" "+end, func(t *testing.T) {
				inBubble(t, 3, func(t *testing.T, c *cluster) {
					p := c.candidate("a", election.WithHooks(hooks), election.OnLeader(c.record("a", 0)))
					run := func() (ended chan struct{}) { // for a TTL at most
						ended = make(chan struct{})
						go func() {
							defer close(ended)
							defer func() { _ = recover() }()
							ctx, cancel := context.WithTimeout(t.Context(), ttl)
							defer cancel()
							_ = p.Run(ctx)
						}()
						return ended
					}
					<-run()
					synctest.Wait()
					if p.IsLeader() {
						t.Error("it leads, although its Run is over")
					}
					time.Sleep(2 * ttl)
					if n := c.held(); n > 0 {
						t.Errorf("%d nodes still have its lock", n)
					}
					b := c.replica("b", 0)
					time.Sleep(time.Second)
					if !b.IsLeader() {
						t.Error("nobody can lead any more")
					}
					returned := run()
					time.Sleep(ttl + 2*10*time.Second)
					select {
					case <-returned:
					default:
						t.Error("a second Run does not end")
					}
				})
			})
		}
	}
}
