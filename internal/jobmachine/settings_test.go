package jobmachine_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// A pause ends by itself, also while nobody leads. Ticks since its end have come; one at the very end runs.
func TestNext_APauseEndsByItself(t *testing.T) {
	j := minutely()
	paused := setting(70, true)
	paused.Until = sec(180)
	r := lead(t, j, 61, stateOf(j, 60))
	r.at(71).wants(jobstore.ToPause, paused).work()
	if at, _ := r.m.Wake(); !at.Equal(sec(180)) {
		t.Errorf("the job wakes at %v", at.Sub(day))
	}
	r.at(180).work().want("run 180s")
	if p := r.m.State().Pause; p.On || p.Version != paused.Version {
		t.Errorf("the pause is %+v", p)
	}

	state := stateOf(j, 60)
	state.Pause = paused
	lead(t, j, 190, state).work().want("run 180s late") // nobody led when it ended
	r = lead(t, j, 190, stateOf(j, 60))                 // and nobody had learned of it
	r.wants(jobstore.ToPause, paused)
	r.work().want("run 180s late")

	again := setting(250, true) // ticks between two pauses are recorded
	r = lead(t, j, 260, state)
	r.wants(jobstore.ToPause, again)
	r.work().want("missed 240s (2 from 180s): the job was paused at " + sec(250).Format(time.DateTime))
}

func TestNext_PausedTakeOversWaitAndTriggersDoNot(t *testing.T) {
	j := minutely()
	j.AtLeastOnce = true
	state := stateOf(j, 60)
	state.Pause = setting(65, true)
	r := lead(t, j, 70, state, withOpen(openAt(60, false))).triggered(68).work().want("run manual 68s")
	r.at(100).returns().work().want("ok manual 68s")
	r.wants(jobstore.ToPause, setting(110, false))
	r.at(110).work().want("run 60s attempt 7 late; interrupted 60s")

	manual := openAt(60, true)
	lead(t, j, 70, state, withOpen(manual)).work().want("run manual 60s attempt 7 late; interrupted manual 60s")
}

func TestNext_ACosmeticEditIsNoChange(t *testing.T) {
	j := minutely()
	edited := *j
	edited.Tries = 3
	r := lead(t, j, 185, stateOf(j, 60))
	r.send(jobmachine.Added{Job: &edited, Before: j.Schedule})
	r.work().want("run 180s; missed 120s: nobody led")
}

// The job changes twice, the second time while the first change is being written.
func TestNext_AChangeInAWriteRecordsWhatItDrops(t *testing.T) {
	j, second, third := minutely(), minutely(), minutely()
	second.Plan, second.Schedule = "ten", every(10*time.Second)
	third.Plan, third.Schedule = "fifty", every(50*time.Second)
	r := lead(t, j, 65, stateOf(j, 60)).work()
	r.send(jobmachine.Added{Job: second, Before: j.Schedule})
	r.due()
	r.send(jobmachine.Added{Job: third, Before: j.Schedule})
	r.at(95).stored()
	r.work().want("missed 90s (3 from 70s): " + jobmachine.ReasonChanged)
	if plan := r.m.State().Plan; plan != "fifty" {
		t.Errorf("the plan is %q", plan)
	}
}

func TestNext_ARemovedJob(t *testing.T) {
	j := withOverlap(jobmachine.Queue)
	r := lead(t, j, 60, stateOf(j, 0)).work()
	r.at(130).work()
	r.send(jobmachine.Removed{})
	r.at(140).work().want("missed 120s: " + jobmachine.ReasonRemoved)
	if !r.m.State().Removed || r.m.IsRemoved() {
		t.Errorf("removed with a run under way: %v, state %+v", r.m.IsRemoved(), r.m.State())
	}
	r.at(200).returns()
	if r.m.IsRemoved() {
		t.Error("removed, and the end of its run is not stored")
	}
	if r.work().want("ok 60s"); !r.m.IsRemoved() {
		t.Error("it is not removed")
	}
	r.at(400).send(jobmachine.Added{Job: j})
	r.work().want("").wantMissed(1)
	r.at(420).work().want("run 420s")
}

func TestNext_AChangedPlanRecordsWhatItDrops(t *testing.T) {
	j, changed := withOverlap(jobmachine.Queue), minutely()
	changed.Plan, changed.Schedule = "fifty", every(50*time.Second)
	r := lead(t, j, 60, stateOf(j, 0)).work()
	r.at(190).send(jobmachine.Added{Job: changed, Before: j.Schedule})
	r.returns().work().want("ok 60s; missed 180s (2 from 120s): " + jobmachine.ReasonChanged)
	r.at(200).work().want("run 200s")

	// A new leader has the changed job.
	lead(t, changed, 195, stateOf(j, 60), func(e *jobmachine.Prepared) { e.Before = j.Schedule }).work().
		want("missed 180s (2 from 120s): " + jobmachine.ReasonChanged)
	// The previous build has a plan that this one cannot parse.
	lead(t, changed, 195, stateOf(j, 60)).work().want("").wantMissed(0)
}
