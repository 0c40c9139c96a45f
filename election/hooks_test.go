package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

// recorder records the calls of hooks.
type recorder struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) reported() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// hooks returns hooks that call any method of the Elector.
func (r *recorder) hooks(p func() *candidate) election.Hooks {
	callAll := func() {
		e := p().Elector
		e.OnLeader(func(context.Context) {})()
		_, _, _, _ = e.IsLeader(), e.Check(), e.Name(), e.Locker()
		_, _ = e.Term()
		ctx, enough := context.WithCancel(context.Background())
		enough() // otherwise a hung node would block the hook
		_, _ = e.Leader(ctx)
		e.OnNewLeader(func(election.Leader) {})()
	}
	return election.Hooks{
		Elected: func(t *election.Term) { callAll(); r.add("elected, valid %v", t.Valid()) },
		Ended: func(t *election.Term, cause error) {
			callAll()
			r.add("ended, valid %v: resigned %v, lost %v, stopped %v", t.Valid(),
				errors.Is(cause, election.ErrResigned), errors.Is(cause, election.ErrLost), errors.Is(cause, election.ErrStopped))
		},
		Drained: func(_ *election.Term, took time.Duration, late bool) {
			callAll()
			r.add("drained after %v, late %v", took, late)
		},
		Renewed: func(_ *election.Term, attempts int, took time.Duration, err error) {
			callAll()
			r.add("renewed in %d after %v: no quorum %v", attempts, took, errors.Is(err, redlock.ErrNoQuorum))
		},
		Attempt: func(_ time.Duration, err error) {
			callAll()
			r.add("attempt: held %v, failed %v", errors.Is(err, redlock.ErrHeld), err != nil)
		},
	}
}

func TestHooks_TellInOrder(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		r := &recorder{}
		var p *candidate
		p = c.candidate("a", election.WithHooks(r.hooks(func() *candidate { return p })), election.WithCooldown(time.Hour),
			election.OnLeader(func(ctx context.Context) {
				r.add("callback begins")
				<-ctx.Done()
				time.Sleep(time.Second)
				r.add("callback ends")
			}))
		other := c.replica("other", 0)
		other.leads()
		p.run()
		time.Sleep(5 * ttl)
		other.stop()
		<-other.ended
		p.leads()
		time.Sleep(every + every/2)
		p.resigned(nil)
		synctest.Wait()
		want := []string{
			"attempt: held true, failed true", "attempt: held false, failed false", "elected, valid true", "callback begins",
			"renewed in 1 after 0s: no quorum false",
			"ended, valid true: resigned true, lost false, stopped false", "callback ends", "drained after 1s, late false",
		}
		got := r.reported()
		attempts := slices.Index(got, "attempt: held false, failed false")
		if attempts > 20 {
			t.Errorf("asked %d times in five TTLs", attempts)
		}
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("reported\n%q, want\n%q", got, want)
		}
	})
}

func TestHooks_OfALeaderThatIsCutOff(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		r := &recorder{}
		var p *candidate
		p = c.candidate("a", election.WithHooks(r.hooks(func() *candidate { return p })),
			election.OnLeader(func(ctx context.Context) { <-ctx.Done(); time.Sleep(ttl) }))
		p.run()
		p.leads()
		p.links.Hang()
		time.Sleep(2 * ttl)
		got := r.reported()
		ended := slices.Index(got, "ended, valid false: resigned false, lost true, stopped false")
		if ended < 0 || !slices.Contains(got, "drained after "+margin.String()+", late true") {
			t.Fatalf("reported %q", got)
		}
		failed := slices.IndexFunc(got, func(s string) bool { return len(s) > 12 && s[:12] == "renewed in 3" })
		if failed < 0 || failed > ended {
			t.Errorf("reported %q, want a renewal that failed after three attempts", got)
		}
	})
}
