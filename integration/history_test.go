package integration_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
)

// In the histories below, a lease ends 1 s after the stop deadline of its term.
const testMargin = time.Second

// story makes events of one term; times are in seconds.
type story struct {
	replica         string
	token           uint64
	since, deadline float64
}

func (s story) event(kind integration.Kind, at float64) integration.Event {
	return integration.Event{
		At: seconds(at), Replica: s.replica, Kind: kind,
		Token: s.token, Since: seconds(s.since), Deadline: seconds(s.deadline),
		Job: "j", Tick: time.UnixMilli(int64(1000 * at)), RunToken: s.token, Valid: true,
	}
}

func (s story) tells(kinds map[integration.Kind]float64) []integration.Event {
	events := []integration.Event{s.event(integration.LeadBegin, s.since)}
	for kind, at := range kinds {
		events = append(events, s.event(kind, at))
	}
	return events
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func with(e integration.Event, change func(*integration.Event)) []integration.Event {
	change(&e)
	return []integration.Event{e}
}

const (
	done   = integration.LeadDone
	ended  = integration.LeadEnd
	run    = integration.RunBegin
	ran    = integration.RunEnd
	sample = integration.Sample
)

type (
	at      = map[integration.Kind]float64
	history = [][]integration.Event
)

func TestCheck_AcceptsWhatMayBe(t *testing.T) {
	a, b := story{"a", 1, 10, 20}, story{"b", 2, 21, 30}
	for name, parts := range map[string]history{
		"nothing": {},
		"a handover at the instant of the return": {
			a.tells(at{run: 11, ran: 12, done: 13, ended: 14}), story{"b", 2, 14, 30}.tells(nil),
		},
		"work after the end, until the lease has run out": {
			a.tells(at{run: 12, done: 20, ended: 25}), b.tells(nil),
		},
		"a leader that was killed": {
			a.tells(at{run: 12, sample: 20}), b.tells(nil),
		},
		"a stopped leader that wakes under the next one": {
			a.tells(at{done: 25, ended: 26}), b.tells(at{sample: 29}),
		},
		"a run that begins while the callback returns": {
			a.tells(at{done: 13, run: 14, ran: 14, ended: 14}),
		},
		"one instant of two jobs": {
			a.tells(at{run: 12, ran: 13}),
			with(a.event(run, 12), func(e *integration.Event) { e.Job = "k" }),
		},
		"a term whose callback was killed before its first line": {
			{a.event(run, 10)}, b.tells(nil),
		},
	} {
		if err := integration.Check(slices.Concat(parts...), testMargin); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck_FindsWhatMustNotBe(t *testing.T) {
	a := story{"a", 5, 10, 20}
	for name, test := range map[string]struct {
		want  string
		parts history
	}{
		"two lead at once": {"overlap", history{
			a.tells(at{done: 13, ended: 13}), story{"b", 6, 12, 30}.tells(nil),
		}},
		"the next leads before the stop deadline of one that was killed": {"overlap", history{
			a.tells(nil), story{"b", 6, 19, 30}.tells(nil),
		}},
		"the next leads before a renewed deadline": {"overlap", history{
			a.tells(nil), {story{"a", 5, 10, 25}.event(sample, 18)}, story{"b", 6, 22, 30}.tells(nil),
		}},
		"the next leads before the lease has run out": {"undrained", history{
			a.tells(at{done: 20}), story{"b", 6, 20.9, 30}.tells(nil),
		}},
		"the next leads before the callback has returned": {"undrained", history{
			a.tells(at{done: 13, ended: 15}), story{"b", 6, 14, 30}.tells(nil),
		}},
		"the next leads before a run has returned": {"undrained", history{
			a.tells(at{run: 12, done: 13, ended: 13, ran: 15}), story{"b", 6, 14, 30}.tells(nil),
		}},
		"the next leads over a run that never returns": {"undrained", history{
			a.tells(at{run: 12, done: 13, ended: 13}), story{"b", 6, 14, 30}.tells(nil),
		}},
		"a token that falls": {"falling token", history{
			a.tells(at{done: 13, ended: 13}), story{"b", 4, 14, 30}.tells(nil),
		}},
		"a token that comes again on the same replica": {"falling token", history{
			a.tells(at{done: 13, ended: 13}), story{"a", 5, 14, 30}.tells(nil),
		}},
		"a replica that woke believes in its old term": {"belief", history{
			a.tells(at{sample: 21}),
		}},
		"a replica believes although it was told to stop": {"belief", history{
			a.tells(at{done: 13, sample: 14}),
		}},
		"a replica believes without a term": {"belief", history{
			{{At: time.Second, Replica: "a", Kind: sample, Valid: true}},
		}},
		"a run of a replica that woke": {"foreign run", history{
			a.tells(at{run: 21}),
		}},
		"a run before its term": {"foreign run", history{
			a.tells(at{run: 9}),
		}},
		"a run with another's token": {"foreign run", history{
			a.tells(nil), with(a.event(run, 12), func(e *integration.Event) { e.RunToken = 4 }),
		}},
		"a run of no term": {"foreign run", history{
			{{At: time.Second, Replica: "a", Kind: run, Job: "j"}},
		}},
		"a tick that runs on two replicas": {"tick ran twice", history{
			a.tells(at{run: 12, ran: 13, done: 14, ended: 14}), story{"b", 6, 15, 30}.tells(nil),
			with(story{"b", 6, 15, 30}.event(run, 16), func(e *integration.Event) {
				e.Tick = a.event(run, 12).Tick
			}),
		}},
		"a tick that runs twice in a term": {"tick ran twice", history{
			a.tells(at{run: 12}), {a.event(run, 12)},
		}},
	} {
		events := slices.Concat(test.parts...)
		for range 2 {
			err := integration.Check(events, testMargin)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want one %s", name, err, test.want)
			}
			slices.Reverse(events)
		}
	}
}
