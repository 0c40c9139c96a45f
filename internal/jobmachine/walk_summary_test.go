package jobmachine_test

import (
	"reflect"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// judgeLast judges the summary of ended runs, and the counts.
func (j *judgment) judgeLast() {
	want := j.was
	missed := 0
	for _, r := range slices.Concat(j.runs, j.given) {
		switch r.State {
		case jobstore.StateOK:
			want.Failures = 0
			want.Last, want.LastOK = newest(want.Last, &r), newest(want.LastOK, &r)
		case jobstore.StateFailed, jobstore.StateLost:
			want.Failures++
			want.Last = newest(want.Last, &r)
		case jobstore.StateCanceled:
			want.Last = newest(want.Last, &r)
		case jobstore.StateInterrupted:
			if r.Err == jobmachine.ReasonGone {
				want.Failures++
			}
		case jobstore.StateMissed:
			if !r.Slot.Manual {
				missed++
			}
		}
	}
	for _, r := range j.ticks {
		if r.State == jobstore.StateMissed {
			missed += max(r.Ticks, 1)
		}
	}
	if !reflect.DeepEqual([]any{j.is.Last, j.is.LastOK, j.is.Failures}, []any{want.Last, want.LastOK, want.Failures}) {
		j.fail("last %+v, last ok %+v, %d failures; want %+v, %+v, %d", j.is.Last, j.is.LastOK, j.is.Failures,
			want.Last, want.LastOK, want.Failures)
	}
	if j.is.Missed != j.was.Missed+missed {
		j.fail("%d are missed, the records have %d more than %d", j.is.Missed, missed, j.was.Missed)
	}
	notRun := j.was.NotRun.Tick
	for _, r := range slices.Concat(j.runs, j.ticks, j.manual) {
		if r.State == jobstore.StateMissed || r.State == jobstore.StateSkipped {
			notRun = later(notRun, r.Slot.At)
		}
	}
	for _, o := range slices.Concat(j.fresh, j.retried, j.supposed) {
		isNew := o.Slot.At.After(j.was.Mark) || slices.ContainsFunc(j.was.Kept, o.Slot.At.Equal)
		if !o.Slot.Manual && isNew && o.Slot.At.After(notRun) {
			notRun = time.Time{}
			break
		}
	}
	if !j.is.NotRun.Tick.Equal(notRun) && !slices.ContainsFunc(j.runs, func(r jobstore.Record) bool {
		return r.State == jobstore.StateInterrupted
	}) {
		j.fail("the newest tick that did not run is %+v, want %s", j.is.NotRun, at(notRun))
	}
}

// newest returns the record of the run that began later. The first may be nil.
func newest(a, b *jobstore.Record) *jobstore.Record {
	if a != nil && a.Start.After(b.Start) {
		return a
	}
	return b
}
