package election_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestNew_NamesEveryProblemAtOnce(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		l := c.candidate("a").locker
		for name, test := range map[string]struct {
			election string
			opts     []election.Option
			want     []string
		}{
			"names": {
				"", []election.Option{election.WithIdentity("a\n", strings.Repeat("v", 3001))},
				[]string{"name is empty", `identity "a\n"`, "value has 3001 bytes"},
			},
			"a long name": {strings.Repeat("n", 192), nil, []string{"has 192 bytes, it may have 191"}},
			"invisible":   {"a\u200bb", nil, []string{`name "a\u200bb" must not contain the invisible character`}},
			"nil option":  {"", []election.Option{election.WithTTL(0), nil}, []string{"option 2 of 2 is nil", "ttl 0s", "name is empty"}},
			"zeros": {
				"x", []election.Option{
					election.WithTTL(0), election.WithRenewal(0), election.WithStopMargin(0),
					election.WithDrainTimeout(-1), election.OnLeader(nil),
				},
				[]string{
					"ttl 0s must be at least 100ms", "renew every 0s must be above node timeout 200ms",
					"stop margin 0s must be above 0",
					"drain timeout -1ns", "callback 1 of 1 is nil",
				},
			},
			"giving up": {
				"x", []election.Option{
					election.WithCooldown(-1), election.WithStandby(-1),
					election.WithMaxTenure(11 * time.Second),
				},
				[]string{
					"cooldown -1ns must not", "standby -1ns must not", "max tenure 11s less a tenth must be above ttl 10s",
				},
			},
			"forever": {
				"x", []election.Option{
					election.WithCooldown(math.MaxInt64), election.WithStandby(math.MaxInt64),
					election.WithMaxTenure(math.MaxInt64), election.WithStopMargin(math.MaxInt64),
				},
				[]string{
					"cooldown 2562047h47m16.854775807s must be at most", "standby 2562047h47m16.854775807s must be at most",
					"max tenure 2562047h47m16.854775807s must be at most",
					"stop margin 2562047h47m16.854775807s + renew every",
				},
			},
			"no unit": {
				"x", []election.Option{election.WithDrainTimeout(20), election.WithCooldown(5), election.WithStandby(3)},
				[]string{
					"drain timeout 20ns is below 1ms: multiply it by a unit, as in 20*time.Second", "cooldown 5ns is below 1ms",
					"standby 3ns is below 1ms",
				},
			},
			"sum": {
				"x", []election.Option{
					election.WithStopMargin(4 * time.Second), election.WithRenewal(7 * time.Second),
				},
				[]string{"stop margin 4s + renew every 7s + drift 102ms must stay below ttl 10s"},
			},
			"renewal beyond any sum": {
				"x", []election.Option{election.WithRenewal(math.MaxInt64)},
				[]string{"renew every 2562047h47m16.854775807s + drift"},
			},
			"no time to lead": {
				"x", []election.Option{election.WithStopMargin(9500 * time.Millisecond), election.WithRenewal(time.Second / 4)},
				[]string{"stop margin 9.5s leaves no time to lead"},
			},
			"too long": {
				"x", []election.Option{election.WithTTL(time.Minute)},
				[]string{"ttl 1m0s must not be above the locker's max ttl 10s"},
			},
		} {
			e, err := election.New(l, test.election, test.opts...)
			if e != nil || err == nil {
				t.Errorf("%s: accepted", name)
			}
			want.Text(t, err, test.want...)
		}
		if _, err := election.New(nil, "x"); err == nil {
			t.Error("a nil locker was accepted")
		}
		b := c.candidate("b")
		before := c.Asked()
		for what, call := range map[string]func(){
			"OnLeader": func() { b.OnLeader(nil) }, "OnNewLeader": func() { b.OnNewLeader(nil) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s takes a function that is nil, which would panic later", what)
					}
				}()
				call()
			}()
		}
		if asked := c.Asked() - before; asked > 0 {
			t.Errorf("%d requests to nodes", asked)
		}
	})
}

func TestLeader_IsWhoAMajorityNames(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("o") // never campaigns
		_, err := observer.Leader(t.Context())
		want.Err(t, err, election.ErrNoLeader)

		id, value := "pod 1: \xc3\xa9", "\x00 any \xff bytes"
		a := c.candidate("a", election.WithIdentity(id, value)).run()
		term := a.leads()
		l, err := observer.Leader(t.Context())
		if err != nil || l.ID != id || l.Value != value || l.Token != term.Token() ||
			time.Until(l.Expires) > ttl {
			t.Errorf("got %+v, %v", l, err)
		}
		observer.links.Cut(0, 1)
		_, err = observer.Leader(t.Context())
		want.Err(t, err, redlock.ErrNoQuorum)
		want := []string{records.Default.Hash()} // the leader has written it
		if keys := c.Node(0).Keys(); !slices.Equal(keys, want) {
			t.Errorf("the observer wrote: %v", keys)
		}
	})
}

// The machine sleeps, which only its boot clock, or the nodes' clocks, can show.
func TestSuspension_EndsTheTermBeforeAnythingStarts(t *testing.T) {
	for _, slept := range []time.Duration{ttl - margin - every, ttl, time.Hour} {
		t.Run(slept.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				p, machine := c.sleeper("a", election.OnLeader(c.record("a", 0)))
				p.run()
				term := p.leads()
				time.Sleep(ttl)
				p.links.Hang() // so that no renewal helps
				left := time.Until(term.Deadline())
				machine.Suspend(slept)
				woke := time.Now()
				if over := slept >= left; p.IsLeader() == over || term.Valid() == over {
					t.Errorf("slept %v before the deadline: leads %v, valid %v", left, p.IsLeader(), term.Valid())
				}
				p.OnLeader(func(ctx context.Context) {
					if slept >= left && ctx.Err() == nil {
						t.Error("work was started after the deadline")
					}
				})
				<-term.Context().Done()
				if took := time.Since(woke); took > max(left-slept, 0)+250*time.Millisecond {
					t.Errorf("slept %v before the deadline: the context was done %v later", left, took)
				}
				want.Err(t, context.Cause(term.Context()), election.ErrLost)
			})
		})
	}
}

// A term that was once over stays over, even if a renewal in flight is confirmed before any timer has run.
func TestTerm_ValidIsFinal(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p, machine := c.sleeper("a", election.OnLeader(c.record("a", 0)))
		p.run()
		term := p.leads()
		p.sleepInARenewal(machine, term)
		if term.Valid() {
			t.Fatal("valid past its deadline")
		}
		want.Err(t, context.Cause(term.Context()), election.ErrLost)
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			if term.Valid() {
				t.Fatal("valid again")
			}
		}
	})
}

// A process that wakes from a pause beyond the deadline and resigns has lost: it had no lease left to give up.
func TestTerm_ResignedPastItsDeadlineIsLost(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		p, machine := c.sleeper("a", election.OnLeader(c.record("a", 0)))
		p.run()
		term := p.leads()
		p.links.Hang()
		machine.Suspend(time.Until(term.Deadline()))
		term.Resign(errors.New("another leads by now"))
		cause := context.Cause(term.Context())
		want.Err(t, cause, election.ErrLost)
		if errors.Is(cause, election.ErrResigned) {
			t.Errorf("the term ended because of %v", cause)
		}
	})
}
