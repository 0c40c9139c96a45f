package jobmachine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

func TestNext_ARunStartsWhenItsTickIsStored(t *testing.T) {
	j := minutely()
	r := lead(t, j, 55, stateOf(j, 0)).work().want("")
	if wake, lazy := r.m.Wake(); !wake.Equal(sec(59.999)) || lazy {
		t.Errorf("Wake is %v, lazy=%v", wake.Sub(day), lazy)
	}
	write := r.at(59.999).due()
	if write == nil || len(write.State.Open) != 1 || !write.State.Mark.Equal(sec(60)) || !write.Opens {
		t.Fatalf("got %+v", write)
	}
	r.at(59.9995).stored()
	if len(r.started) != 1 || !r.started[0].At.Equal(sec(60)) {
		t.Errorf("started %+v, want it to wait for its tick", r.started)
	}
}

func TestNext_AFailedWriteIsMadeAgain(t *testing.T) {
	j := minutely()
	r := lead(t, j, 60, stateOf(j, 0))
	r.due()
	r.failed()
	if len(r.started) > 0 || len(r.m.State().Open) > 0 || r.m.Failures() != 1 {
		t.Errorf("after a failure: started %v, state %+v", r.started, r.m.State())
	}
	r.at(62).due()
	r.stored()
	r.want("run 60s")
}

func TestNext_NothingIsWrittenBeforeTheRetry(t *testing.T) {
	j := minutely()
	r := lead(t, j, 60, stateOf(j, 0))
	r.due()
	r.send(jobmachine.Failed{Now: r.now, Retry: sec(63)})
	r.wants(jobstore.ToPause, setting(61, true))
	if wake, _ := r.m.Wake(); !wake.Equal(sec(63)) {
		t.Errorf("Wake is %v", wake.Sub(day))
	}
	if write := r.at(62.9).due(); write != nil {
		t.Errorf("wrote %+v", write)
	}
}

// All ticks of a minute run for a job of every second, although nobody could open them for five seconds.
func TestNext_CatchUpAllRunsTicksThatAreALittleLate(t *testing.T) {
	j := minutely()
	j.Plan, j.Schedule, j.CatchUp = "second", every(time.Second), jobmachine.CatchUp{All: true, Window: time.Minute}
	all := func(r *rig) {
		t.Helper()
		for _, want := range []string{"run 1s", "run 2s", "run 3s", "run 4s", "run 5s"} {
			if r.work(); len(r.started) != 1 || "run "+name(r.started[0].Open.Slot) != want {
				t.Fatalf("started %+v, want %s", r.started, want)
			}
			r.returns()
		}
		r.wantMissed(0)
	}
	all(lead(t, j, 5.1, stateOf(j, 0))) // nobody led

	r := lead(t, j, 0.5, stateOf(j, 0)).work()
	for s := 1; s <= 5; s++ { // there was no quorum
		r.at(float64(s)).due()
		r.failed()
	}
	all(r.at(5.2))
}

func TestNext_OfVeryManyTicksTheNewestThousandRun(t *testing.T) {
	for name, overlap := range map[string]jobmachine.Overlap{
		"nobody led": jobmachine.Skip, "they waited for a run": jobmachine.Queue,
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.Plan, j.Schedule, j.Overlap = "second", every(time.Second), overlap
			j.CatchUp = jobmachine.CatchUp{All: true, Window: 2 * time.Hour}
			state := stateOf(j, 0)
			if overlap == jobmachine.Queue {
				state.Last = &jobstore.Record{ID: "x", State: jobstore.StateOK, Start: sec(0), End: sec(3600)}
			}
			r := lead(t, j, 3600, state).work()
			if len(r.started) != 1 || r.started[0].Open.Slot != tick(2601) {
				t.Errorf("started %+v", r.started)
			}
			r.wantMissed(2600)
		})
	}
}

// The loop has one goroutine for all jobs, and a call of a schedule takes up to a microsecond.
func TestNext_ALargeBacklogTakesFewCallsOfTheSchedule(t *testing.T) {
	for name, overlap := range map[string]jobmachine.Overlap{
		"skip": jobmachine.Skip, "queue": jobmachine.Queue, "allow": jobmachine.Allow,
	} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, all: %v", name, all), func(t *testing.T) {
				calls := 0
				j := withOverlap(overlap)
				j.Plan, j.Schedule, j.Jitter = "second", counted{every(time.Second), &calls}, time.Second
				j.CatchUp = jobmachine.CatchUp{All: all, Window: 24 * time.Hour}
				r := lead(t, j, 86_400, stateOf(j, 0))
				for due := range 4 {
					calls = 0
					if r.due() != nil {
						r.stored()
					}
					if t.Logf("%d calls", calls); calls > 500 {
						t.Errorf("Due %d has called the schedule %d times, want 500 at most", due+1, calls)
					}
				}
			})
		}
	}
}

func TestNext_JitterIsNoDelay(t *testing.T) {
	j := minutely()
	j.Jitter, j.CatchUp.Window = 50*time.Second, jobmachine.LateTolerance
	start := j.StartOf(sec(60))
	if wait := start.Sub(sec(60)); wait < 10*time.Second {
		t.Fatalf("the jitter of this tick is %v: use another name", wait)
	}
	r := lead(t, j, 60, stateOf(j, 0)).work().want("")
	if wake, _ := r.m.Wake(); !wake.Equal(start.Add(-time.Millisecond)) {
		t.Errorf("Wake is %v", wake.Sub(day))
	}
	r.at(start.Add(4 * time.Second).Sub(day).Seconds()).work().want("run 60s")
}

func TestStartOf(t *testing.T) {
	j := minutely()
	same := *j
	same.Jitter = time.Hour
	seconds := map[time.Duration]bool{}
	for tick := range 1000 {
		at := sec(float64(60 * tick))
		start := same.StartOf(at)
		if start.Before(at) || !start.Before(at.Add(time.Minute)) || !start.Equal(same.StartOf(at)) {
			t.Fatalf("the tick %v starts at %v", at, start)
		}
		seconds[start.Sub(at).Truncate(time.Second)] = true
		if !j.StartOf(at).Equal(at) {
			t.Fatalf("without jitter the tick %v starts at %v", at, j.StartOf(at))
		}
	}
	if len(seconds) < 50 {
		t.Errorf("1000 ticks start at %d seconds of the minute", len(seconds))
	}
	same.Schedule = every(time.Millisecond)
	if start := same.StartOf(day); !start.Equal(day) {
		t.Errorf("a tick starts %v later, when the next one has come", start.Sub(day))
	}
}

func TestKey_OfATriggerIsNoKeyOfATick(t *testing.T) {
	if a, b := jobmachine.Key("job", day, false), jobmachine.Key("job", day, true); a != "job@1772359200000" ||
		b != "job@m1772359200000000" {
		t.Errorf("%s, %s", a, b)
	}
}

func TestNext_ManyTicksAreMissedAtOnce(t *testing.T) {
	j := minutely()
	j.Plan, j.Schedule = "second", every(time.Second)
	r := lead(t, j, 1_000_000.5, stateOf(j, 0)).work()
	if len(r.started) != 1 || r.started[0].Open.Slot != tick(1_000_000) {
		t.Errorf("started %+v", r.started)
	}
	if s := r.m.State(); len(r.reported) != 1 || !r.reported[0].From.Equal(sec(1)) || r.reported[0].Slot != tick(999_999) ||
		r.reported[0].Ticks != 999_999 || s.Missed != 999_999 {
		t.Errorf("reported %+v, %d missed", r.reported, s.Missed)
	}
}

// Status shows why ticks did not run only until a newer tick runs; a triggered run does not count.
func TestNext_ATickThatRunsEndsTheReasonOfThoseBefore(t *testing.T) {
	j := minutely()
	j.CatchUp.Window = 5 * time.Second
	r := lead(t, j, 90, stateOf(j, 0)).work().want("missed 60s: nobody led")
	r.at(95).triggered(95).work().want("run manual 95s").at(96).returns().work()
	if got := r.m.State().NotRun; !got.Tick.Equal(sec(60)) || got.Reason != "nobody led" {
		t.Errorf("after a manual run: %+v", got)
	}
	r.at(120).work().want("run 120s")
	if got := r.m.State().NotRun; got != (jobstore.NotRun{}) {
		t.Errorf("after a tick has run: %+v", got)
	}
}
