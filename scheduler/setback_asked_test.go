package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// setBackRig has the process that asks. The nodes' clocks differ from this machine's by shift then.
type setBackRig struct {
	*replica
	shift time.Duration
}

func askPause(r setBackRig) error     { return r.Pause(r.c.T.Context(), "job") }
func askResume(r setBackRig) error    { return r.Resume(r.c.T.Context(), "job") }
func askPauseAll(r setBackRig) error  { return r.PauseAll(r.c.T.Context()) }
func askResumeAll(r setBackRig) error { return r.ResumeAll(r.c.T.Context()) }
func askTrigger(r setBackRig) error   { return r.Trigger(r.c.T.Context(), "job") }
func askRerun(r setBackRig) error     { return r.Rerun(r.c.T.Context(), "job", r.c.instant(-time.Hour)) }
func askCancel(r setBackRig) error    { return r.Cancel(r.c.T.Context(), "long") }

// askBrief pauses the job for two minutes.
func askBrief(r setBackRig) error {
	return r.Pause(r.c.T.Context(), "job", scheduler.Until(time.Now().Add(r.shift+2*time.Minute)))
}

type setBackVerb func(setBackRig) error

// setBackVerbs are verbs minutes before the set-back, just before it, and just after it; nil: none. Each returns nil in the end, and so
// takes effect.
var setBackVerbs = map[string]struct {
	early, before, after setBackVerb
	paused               bool // at the end
	runs                 int  // manual ones, of the job "job"
	cancels              bool
}{
	"a pause":                           {before: askPause, paused: true},
	"a pause after it":                  {after: askPause, paused: true},
	"a pause and its end":               {before: askPause, after: askResume},
	"an end of an early pause":          {early: askPause, before: askResume},
	"an end after it of an early pause": {early: askPause, after: askResume},
	"an end and another pause":          {early: askPause, before: askResume, after: askPause, paused: true},
	"a pause and one with an end":       {before: askPause, after: askBrief},
	"one with an end, and another":      {after: askBrief},
	"all: a pause":                      {before: askPauseAll, paused: true},
	"all: a pause after it":             {after: askPauseAll, paused: true},
	"all: a pause and its end":          {before: askPauseAll, after: askResumeAll},
	"all: an end of an early pause":     {early: askPauseAll, before: askResumeAll},
	"all: an end after it":              {early: askPauseAll, after: askResumeAll},
	"all: an end and another pause":     {early: askPauseAll, before: askResumeAll, after: askPauseAll, paused: true},
	"a trigger":                         {before: askTrigger, runs: 1},
	"a trigger after an early one":      {early: askTrigger, after: askTrigger, runs: 2},
	"a rerun":                           {before: askRerun, runs: 1},
	"a rerun after an early one":        {early: askRerun, after: askRerun, runs: 2},
	"a cancel":                          {before: askCancel, cancels: true},
	"a cancel after it":                 {after: askCancel, cancels: true},
}

// setBackTimes say what the leader has done between the two verbs, and the set-back between them.
var setBackTimes = map[string]struct {
	gap          time.Duration // before the set-back
	leaves, dies bool
}{
	"at once":            {},
	"in a moment":        {gap: time.Millisecond},
	"applied":            {gap: 3 * time.Second},
	"a leader dies":      {dies: true},
	"nobody leads":       {leaves: true},
	"nobody leads after": {gap: 3 * time.Second, leaves: true},
}

// setBackMix is a mix of those.
type setBackMix struct {
	verbs, at  string
	all, nodes int // nodes, and those whose clocks are set back
	back       time.Duration
}

// setBackMixes returns all of them, in a random order after the one that is always tried for each of the verbs.
func setBackMixes() []setBackMix {
	var first, others []setBackMix
	for verbs := range setBackVerbs {
		for at := range setBackTimes {
			for _, nodes := range [][2]int{{1, 1}, {3, 1}, {3, 2}, {3, 3}} {
				for _, back := range []time.Duration{10 * time.Minute, 30 * time.Minute} { // the leader leads for 20 minutes
					mix := setBackMix{verbs, at, nodes[0], nodes[1], back}
					if mix == (setBackMix{verbs, "at once", 3, 2, 10 * time.Minute}) {
						first = append(first, mix)
					} else {
						others = append(others, mix)
					}
				}
			}
		}
	}
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append(first, others...)
}

// What people want around a set-back of the clocks takes effect and stays, also when the clocks have caught up.
func TestPlans_RequestsAroundASetBack(t *testing.T) {
	mixes := setBackMixes()
	for _, mix := range mixes[:min(*setBackAsked, len(mixes))] {
		verbs, at := setBackVerbs[mix.verbs], setBackTimes[mix.at]
		if verbs.cancels && (at.dies || at.leaves) {
			continue // the run ends with its leader
		}
		t.Run(fmt.Sprintf("%s/%s/%d of %d nodes by %v", mix.verbs, mix.at, mix.nodes, mix.all, mix.back), func(t *testing.T) {
			withShortLeases(t, mix.all, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				addBoth(a, b, "0 * * * * *", quick, allowed)
				for _, r := range []*replica{a, b} {
					r.add(r.job("long", "@yearly", untilDone(0)))
				}
				p := setBackRig{replica: c.idle("p")}
				c.SleepTo(17*time.Minute + half)
				c.must(a.Trigger(t.Context(), "long"))
				p.ask(verbs.early)
				c.SleepTo(20*time.Minute + half)
				switch {
				case at.leaves && at.gap == 0:
					a.leaves()
				case at.dies:
					a.links.Cut()
				}
				p.ask(verbs.before)
				time.Sleep(at.gap)
				if at.leaves && at.gap > 0 {
					a.leaves()
				}
				c.jumpAll(mix.nodes, -mix.back)
				if mix.nodes > mix.all/2 {
					p.shift = -mix.back
				}
				if at.leaves || at.dies {
					b.campaign()
				}
				p.ask(verbs.after)
				time.Sleep(5 * time.Minute)
				p.wantSeen(verbs.paused, verbs.runs, verbs.cancels)
				time.Sleep(mix.back) // the clocks have caught up, so ticks come again
				p.wantSeen(verbs.paused, verbs.runs, verbs.cancels)
				if ticks := p.ticksLately(); (ticks > 0) == verbs.paused {
					t.Errorf("paused: %v, %d ticks lately", verbs.paused, ticks)
				}
			})
		})
	}
}

// ask calls a verb until it returns nil.
func (r setBackRig) ask(verb setBackVerb) {
	if verb == nil {
		return
	}
	r.c.T.Helper()
	for range 100 {
		err := verb(r)
		if err == nil {
			return
		}
		if text := fmt.Sprintf("%q", err.Error()); strings.Contains(text, `x01`) {
			r.c.T.Errorf("the error has a name that nobody gave: %s", text)
		}
		time.Sleep(time.Second)
	}
	r.c.T.Fatal("there is no end of errors")
}

// wantSeen checks what people see of the jobs, and the manual runs.
func (r setBackRig) wantSeen(paused bool, runs int, cancels bool) {
	r.c.T.Helper()
	for _, run := range r.c.records() {
		switch {
		case run.Job == "long" && cancels != errors.Is(run.cause, scheduler.ErrCanceled):
			r.c.T.Errorf("the long run ended by %v", run.cause)
		case run.Job == "job" && run.Manual:
			runs--
		}
	}
	if s := r.status("job"); s.Paused != paused || runs != 0 {
		r.c.T.Errorf("paused: %v, %d manual runs are missing: %+v", s.Paused, runs, s)
	}
}

// ticksLately returns how many ticks have run in the last two minutes.
func (r setBackRig) ticksLately() (n int) {
	for _, run := range r.c.records() {
		if run.Job == "job" && !run.Manual && time.Since(run.start) < 2*time.Minute {
			n++
		}
	}
	return n
}
