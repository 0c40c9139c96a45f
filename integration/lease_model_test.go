//go:build unix

package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlockfx/redlockfx/integration"
)

// grant is the state of a lock as seen from outside: the latest grant, and whether it is over.
type grant struct {
	token uint64
	until time.Duration // from this time on it may have expired
	over  bool
}

func (g grant) String() string {
	if g.over {
		return fmt.Sprintf("%d is over", g.token)
	}
	return fmt.Sprintf("%d until %v", g.token, g.until)
}

// leaseModel says which histories of calls a lock may have. The input of a call is its event.
var leaseModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{grant{over: true}} },
	Step: func(state, call, _ any) (after []any) {
		e := call.(integration.Event)
		for _, g := range state.(grant).orOver(e.At) {
			if next, may := g.after(e); may {
				after = append(after, next)
			}
		}
		return after
	},
	DescribeOperation: func(call, _ any) string {
		e := call.(integration.Event)
		return fmt.Sprintf("%s %d until %v", e.Kind, e.Token, e.Deadline)
	},
	DescribeState: func(state any) string { return state.(grant).String() },
}).ToModel()

// orOver returns the possible states of the grant at a time: if it may have ended by then, also the state after its
// end.
func (g grant) orOver(at time.Duration) []grant {
	if g.over || at < g.until {
		return []grant{g}
	}
	return []grant{g, {token: g.token, over: true}}
}

// after returns the state after a call, if the call is allowed.
func (g grant) after(e integration.Event) (next grant, may bool) {
	held := !g.over && e.Token == g.token
	switch e.Kind {
	case acquired:
		return grant{token: e.Token, until: e.Deadline}, g.over && e.Token > g.token
	case extended:
		return grant{token: g.token, until: e.Deadline}, held && e.Since <= g.until
	case polled:
		return g, held && e.Since <= g.until
	case released:
		return grant{token: g.token, over: true}, held
	case releasing: // without a known success
		return grant{token: g.token, until: g.until, over: g.over || held}, true
	}
	return g, false
}

// operations returns the calls that affect the lease.
func operations(events []integration.Event) (ops []porcupine.Operation) {
	clients := make(map[string]int)
	well := make(map[uint64]bool) // tokens whose release succeeded
	for _, e := range events {
		if e.Kind == released {
			well[e.Token] = true
		}
	}
	for _, e := range events {
		if _, known := clients[e.Replica]; !known {
			clients[e.Replica] = len(clients)
		}
		if e.Kind == failed || e.Kind == releasing && well[e.Token] {
			continue
		}
		ops = append(ops, porcupine.Operation{
			ClientId: clients[e.Replica], Input: e, Call: int64(e.Since), Return: int64(e.At),
		})
	}
	return ops
}

func TestLeaseModel_KnowsWhatMustNotBe(t *testing.T) {
	event := func(
		kind integration.Kind, token uint64, since, at, deadline time.Duration,
	) integration.Event {
		return integration.Event{Kind: kind, Token: token, Since: since, At: at, Deadline: deadline}
	}
	first := event(acquired, 1, 0, 10, 100)
	for name, test := range map[string]struct {
		more []integration.Event
		want porcupine.CheckResult
	}{
		"one after the other": {[]integration.Event{
			event(polled, 1, 20, 21, 100), event(extended, 1, 30, 40, 130), event(polled, 1, 101, 102, 130),
			event(releasing, 1, 110, 110, 130), event(released, 1, 110, 115, 130),
			event(acquired, 2, 50, 112, 200),
		}, porcupine.Ok},
		"after the end": {[]integration.Event{event(acquired, 2, 90, 100, 200)}, porcupine.Ok},
		"after a release that may have worked": {[]integration.Event{
			event(releasing, 1, 50, 50, 100), event(failed, 1, 50, 70, 100), event(acquired, 2, 55, 60, 200),
		}, porcupine.Ok},
		"release after the end, but nobody came": {[]integration.Event{
			event(releasing, 1, 90, 90, 100), event(released, 1, 90, 120, 100),
		}, porcupine.Ok},
		"two at once":    {[]integration.Event{event(acquired, 2, 50, 99, 200)}, porcupine.Illegal},
		"the same token": {[]integration.Event{event(acquired, 1, 90, 110, 200)}, porcupine.Illegal},
		"falling token":  {[]integration.Event{event(acquired, 0, 90, 110, 200)}, porcupine.Illegal},
		"two at once, since the first was extended": {[]integration.Event{
			event(extended, 1, 80, 90, 180), event(acquired, 2, 120, 130, 200),
		}, porcupine.Illegal},
		"back from the dead": {[]integration.Event{
			event(extended, 1, 101, 110, 180),
		}, porcupine.Illegal},
		"belief in a lease that is over": {[]integration.Event{
			event(polled, 1, 101, 102, 100),
		}, porcupine.Illegal},
		"belief beside the next": {[]integration.Event{
			event(acquired, 2, 90, 100, 200), event(extended, 1, 95, 130, 190), event(polled, 1, 140, 141, 190),
		}, porcupine.Illegal},
		"release of what is another's": {[]integration.Event{
			event(acquired, 2, 90, 100, 200), event(released, 1, 110, 120, 100),
		}, porcupine.Illegal},
		"two releases": {[]integration.Event{
			event(released, 1, 50, 60, 100), event(released, 1, 70, 80, 100),
		}, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			ops := operations(append([]integration.Event{first}, test.more...))
			if got := porcupine.CheckOperationsTimeout(leaseModel, ops, waitLimit); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
