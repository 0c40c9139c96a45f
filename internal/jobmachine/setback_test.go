package jobmachine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

func span(after, upTo float64) jobstore.Range {
	return jobstore.Range{After: sec(after), UpTo: sec(upTo)}
}

// gaps returns ranges, from pairs of numbers.
func gaps(ends ...float64) (all []jobstore.Range) {
	for i := 0; i < len(ends); i += 2 {
		all = append(all, span(ends[i], ends[i+1]))
	}
	return all
}

func withSetBack(e *jobmachine.Prepared) { e.Basis.SetBack = time.Second }

func unnoticed(e *jobmachine.Prepared) { e.Unnoticed = 5 * time.Minute }

// The nodes' clocks show 600 s, and the state is from later. Every tick that may have been opened stays closed when it comes again.
func TestNext_AfterASetBackOnlyTicksRunThatWereNotOpened(t *testing.T) {
	ran := ": " + jobmachine.ReasonRan
	for what, test := range map[string]struct {
		change func(s *jobstore.State)
		first  string // at 600 s
		ran    jobstore.Range
	}{
		"all may have been opened": {func(s *jobstore.State) { s.Mark = sec(900) }, "", span(600, 900)},
		"a gap": {func(s *jobstore.State) { s.Mark, s.Gaps = sec(900), gaps(60, 780) },
			"run 600s; missed 540s (4 from 360s): nobody led", span(780, 900)},
		"a gap that begins just before": {func(s *jobstore.State) { s.Mark, s.Gaps = sec(900), gaps(540, 780) },
			"run 600s", span(780, 900)},
		"a gap that is over": {func(s *jobstore.State) { s.Mark, s.Gaps = sec(900), gaps(60, 540) }, "", span(600, 900)},
		"a gap to come":      {func(s *jobstore.State) { s.Mark, s.Gaps = sec(900), gaps(660, 780) }, "", span(600, 900)},
		"a job that was new": {func(s *jobstore.State) { s.Mark, s.Since, s.Gaps = sec(900), sec(780), gaps(0, 780) },
			"run 600s; missed 540s (4 from 360s): nobody led", span(780, 900)},
		"set back twice": {func(s *jobstore.State) { s.Mark, s.Gaps, s.Ran = sec(840), gaps(60, 780), span(720, 900) },
			"run 600s; missed 540s (4 from 360s): nobody led", span(720, 900)},
		"only other times are ahead": {func(s *jobstore.State) { s.Mark, s.Manual, s.Ran = sec(600), setting(900, true).Mark, span(720, 900) },
			"", span(720, 900)},
	} {
		t.Run(what, func(t *testing.T) {
			j := minutely()
			state := stateOf(j, 0)
			test.change(&state)
			r := lead(t, j, 600, state, withSetBack, unnoticed).work().want(test.first)
			if s := r.m.State(); s.Ran != test.ran || s.Mark.After(r.now) || s.Since.After(r.now) {
				t.Errorf("state %+v", s)
			}
			for tick := 660.0; tick <= 960; tick += 60 {
				if len(r.underWay) > 0 {
					r.returns().work()
				}
				want := "run " + name(jobstore.Slot{At: sec(tick)})
				if test.ran.Has(sec(tick)) {
					want = "missed " + name(jobstore.Slot{At: sec(tick)}) + ran
				}
				r.at(tick).work().want(want)
			}
			if s := r.m.State(); s.Ran != (jobstore.Range{}) {
				t.Errorf("still kept: %+v", s.Ran)
			}
		})
	}
}

// Nobody leads while ticks come again that may have been opened.
func TestNext_TicksThatCameBeforeAreNotCaughtUpWith(t *testing.T) {
	j := minutely()
	j.CatchUp.All = true
	state := stateOf(j, 600)
	state.Ran = span(720, 900)
	r := lead(t, j, 965, state).work().want("run 960s; missed 720s (2 from 660s): nobody led; missed 900s (3 from 780s): " + jobmachine.ReasonRan)
	if got := r.m.State().Gaps; !slices.Equal(got, gaps(600, 720)) {
		t.Errorf("the gaps are %+v", got)
	}
}

// A gap is kept while a clock can be set back into it.
func TestNext_GapsThatMatter(t *testing.T) {
	j := minutely()
	j.CatchUp.Window = 5 * time.Second
	r := lead(t, j, 6010, stateOf(j, 0)).work()
	for _, step := range []struct {
		at   float64
		want []jobstore.Range
	}{
		{6010, gaps(0, 6000)},
		{6610, gaps(0, 6000, 6000, 6600)},
		{6730, gaps(0, 6000, 6000, 6600, 6600, 6720)},
		{6850, gaps(0, 6000, 6000, 6600, 6720, 6840)},
		{12910, gaps(6840, 12900)},
	} {
		if r.at(step.at).work(); !slices.Equal(r.m.State().Gaps, step.want) {
			t.Errorf("at %v: %+v", step.at, r.m.State().Gaps)
		}
	}
	for i := range 9 {
		r.at(13010 + 60*float64(i)).work()
	}
	if n := len(r.m.State().Gaps); n > 4 {
		t.Errorf("%d gaps are kept", n)
	}
}

// A pause ends after ticks have come again that may have been opened before, or after ticks that the nodes have lost.
func TestNext_WhatMayHaveBeenOpenedIsNoGap(t *testing.T) {
	for name, test := range map[string]struct {
		ran    jobstore.Range
		change func(*jobmachine.Prepared)
		want   []jobstore.Range
	}{
		"came again":           {span(660, 900), nil, gaps(900, 990)},
		"will come again":      {span(1020, 1200), nil, gaps(600, 990)},
		"the nodes have lost":  {jobstore.Range{}, withFloor(950), gaps(950, 990)},
		"nothing of that kind": {jobstore.Range{}, nil, gaps(600, 990)},
	} {
		state := stateOf(minutely(), 600)
		state.Ran, state.Pause = test.ran, setting(600, true)
		var changes []func(*jobmachine.Prepared)
		if test.change != nil {
			changes = append(changes, test.change)
		}
		r := lead(t, minutely(), 985, state, changes...)
		r.at(990).wants(jobstore.ToPause, setting(990, false))
		if got := r.work().m.State().Gaps; !slices.Equal(got, test.want) {
			t.Errorf("%s: the gaps are %+v", name, got)
		}
	}
}

// Ticks whose outcome the nodes have lost may have been opened.
func TestNext_TicksOfALossAreNoGap(t *testing.T) {
	r := lead(t, minutely(), 6010, stateOf(minutely(), 0), withFloor(6005)).work()
	if s := r.m.State(); len(s.Gaps) > 0 || s.Missed != 100 {
		t.Errorf("%+v", s)
	}
}

// Ticks of a job that no node knows may have been opened up to the floor, unless the nodes' clocks are ahead of the leader's.
func TestNext_AJobThatNoNodeKnows(t *testing.T) {
	for name, test := range map[string]struct {
		deleted, floor, wall float64
		gaps                 []jobstore.Range
		ran                  jobstore.Range
	}{
		"the nodes' clocks are ahead":           {0, 500, 100, gaps(100, 600), jobstore.Range{}},
		"the nodes have lost it":                {0, 500, 600, gaps(500, 600), jobstore.Range{}},
		"it was deleted":                        {550, 550, 100, gaps(550, 600), jobstore.Range{}},
		"it was deleted by clocks that went on": {900, 900, 600, nil, span(600, 900)},
	} {
		r := lead(t, minutely(), 600, jobstore.State{}, func(e *jobmachine.Prepared) {
			e.Wall, e.Basis = sec(test.wall), jobstore.Basis{Floor: sec(test.floor), Deleted: sec(test.deleted)}
			if test.floor > 600 {
				e.Basis.SetBack = time.Second
			}
		}).work()
		if s := r.m.State(); !slices.Equal(s.Gaps, test.gaps) || s.Ran != test.ran || !s.Mark.Equal(sec(600)) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A pause that holds still holds. A trigger that is done is not run again, and one that waits runs.
func TestNext_AfterASetBackSettingsStayValid(t *testing.T) {
	for name, test := range map[string]struct {
		state, node float64 // when the state's and the nodes' pause was made; 0: there is none
		manual      float64
		trigger     float64
		paused      bool
		want        string
	}{
		"a pause in the state":            {800, 800, 0, 0, true, ""},
		"a pause that nobody has learned": {0, 800, 0, 0, true, ""},
		"the end of a pause":              {800, -810, 0, 0, false, ""},
		"a trigger that is done":          {0, 0, 850, 850, false, ""},
		"a trigger that waits":            {0, 0, 840, 850, false, "run manual"},
		"a trigger that nobody has run":   {0, 0, 0, 850, false, "run manual"},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			state := stateOf(j, 900)
			if test.state > 0 {
				state.Pause = setting(test.state, true)
			}
			if test.manual > 0 {
				state.Manual = setting(test.manual, true).Mark
			}
			r := &rig{t: t, m: jobmachine.New(j, "r"), now: sec(600)}
			for range 2 { // before it is prepared, and once more after that
				if test.node != 0 {
					r.wants(jobstore.ToPause, setting(max(test.node, -test.node), test.node > 0))
				}
				if test.trigger > 0 {
					r.triggered(test.trigger)
				}
				e := jobmachine.Prepared{Now: r.now, Basis: known(state)}
				if withSetBack(&e); !r.m.IsPrepared() {
					r.send(e)
				}
			}
			r.work()
			got := ""
			for _, s := range r.started {
				if got = "run"; s.Open.Slot.Manual {
					got = "run manual"
				}
				if s.Open.Slot.At.After(sec(601)) || s.At.After(sec(601)) {
					t.Errorf("started %+v", s)
				}
			}
			if s := r.m.State(); got != test.want || s.Pause.On != test.paused || s.Pause.At().After(sec(601)) {
				t.Errorf("%q, state %+v", got, s)
			}
		})
	}
}

// A run that is under way or that is taken over belongs to the present.
func TestNext_RunsOfBeforeASetBack(t *testing.T) {
	j := minutely()
	j.AtLeastOnce = true
	open := jobstore.Open{Slot: tick(900), ID: "x", Attempt: 1, Tries: 1, Start: sec(900)}
	state := stateOf(j, 900)
	state.Open, state.Gaps = []jobstore.Open{open}, gaps(0, 840)
	state.Last = &jobstore.Record{Slot: tick(840), ID: "l", State: jobstore.StateOK, Start: sec(840), End: sec(850)}
	r := lead(t, j, 630, state, withSetBack).work().want("run 900s attempt 2 late; interrupted 900s")
	if s := r.started[0]; s.At.After(sec(631)) || s.Open.Slot != open.Slot {
		t.Errorf("started %+v", s)
	}
	if last := r.m.State().Last; last.Slot != tick(840) || !last.Start.Equal(sec(620)) || !last.End.Equal(sec(630)) {
		t.Errorf("last %+v", last)
	}
	r.at(660).work().want("skipped 660s: " + jobmachine.ReasonOverlap)
	r.at(670).returns().work()
	r.at(720).work().want("run 720s")

	// The process goes on.
	own := stateOf(j, 900)
	own.Gaps = gaps(0, 840)
	r = lead(t, j, 959, own).work()
	r.at(960).work().want("run 960s")
	before := r.m.State()
	r.at(630).send(jobmachine.Prepared{Now: r.now, Basis: jobstore.Basis{Known: true, Written: jobstore.Written{State: before}, SetBack: time.Second, Floor: sec(625)}})
	r.work().want("")
	r.at(660).work().want("skipped 660s: " + jobmachine.ReasonOverlap)
	r.at(670).returns().work().want("ok 960s")
	if s := r.m.State(); len(s.Open) > 0 || s.Last.End.After(r.now) || s.Last.Start.After(r.now) {
		t.Errorf("state %+v", s)
	}
	r.at(720).work().want("run 720s")
}

// A request to end runs that was made after the set-back has a newer mark, and an earlier time.
func TestNext_CancelAfterASetBack(t *testing.T) {
	state := stateOf(minutely(), 900)
	state.Gaps = gaps(0, 840)
	r := lead(t, minutely(), 959, state).work()
	r.at(960).work().wants(jobstore.ToCancel, setting(960, true))
	first := r.work().canceled
	r.returns().work()
	r.at(630).send(jobmachine.Prepared{Now: r.now, Basis: jobstore.Basis{Known: true, Written: jobstore.Written{State: r.m.State()}, SetBack: time.Second}})
	r.work().at(660).work().wantCanceled(first...)
	again := setting(961, true)
	again.Made = sec(660)
	r.wants(jobstore.ToCancel, again)
	if r.work(); len(first) != 1 || len(r.canceled) != 2 {
		t.Errorf("canceled %v, and after the set-back %v", first, r.canceled)
	}
}

// The mark of a request never changes, so one that came before another one is not applied after it. Ticks that come after the end of a
// pause run, also if the pause began by the clocks of before.
func TestNext_ThePauseEndsAfterASetBack(t *testing.T) {
	for name, ends := range map[string]func(r *rig){
		"before it, and the leader learns of that after it": func(r *rig) {
			end := setting(800, false)
			end.Since = sec(700)
			r.wants(jobstore.ToPause, end)
		},
		"after it, and the leader has learned of the pause": func(r *rig) {
			r.wants(jobstore.ToPause, setting(800, true))
			end := setting(800.000001, false)
			end.Made = sec(600)
			r.wants(jobstore.ToPause, end)
		},
		"and the pause is still on a node": func(r *rig) {
			r.wants(jobstore.ToPause, setting(800, false)).work()
			r.send(jobmachine.Prepared{Now: r.now, Basis: jobstore.Basis{Known: true, SetBack: time.Second,
				Written: jobstore.Written{At: jobstore.At{Seq: 99}, State: r.m.State()}}})
			r.at(620).wants(jobstore.ToPause, setting(790, true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			r := lead(t, j, 610, stateOf(j, 600), withSetBack)
			ends(r)
			r.work()
			if s := r.m.State(); s.Pause.On || s.Pause.At().After(r.now) {
				t.Errorf("state %+v", s)
			}
			r.at(660).work().want("run 660s")
		})
	}
}
