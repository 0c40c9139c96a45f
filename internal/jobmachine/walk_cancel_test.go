package jobmachine_test

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// isHit reports whether a run had begun when somebody asked to end it, and no write has that.
func (w *walk) isHit(o jobstore.Open) bool {
	l := &w.leader
	return w.cancels() && o.Canceled.IsZero() && !o.Began.After(l.cancel.At())
}

// cancels reports whether somebody asked to end runs, and no write has that.
func (w *walk) cancels() bool {
	state := w.m.State()
	return w.leader.cancel.Version != 0 && !state.Has(jobstore.Request{Verb: jobstore.ToCancel, Setting: w.leader.cancel})
}

// judgeCanceled judges the runs that somebody asked to end.
func (j *judgment) judgeCanceled() {
	for _, o := range j.was.Open {
		is, records := find(j.is.Open, o.ID), j.recordsOf(o.ID)
		switch {
		case !j.isHit(o), j.hasReturned(o.ID):
		case j.isUnderWay(o.ID):
			if is == nil || !is.Canceled.Equal(j.leader.cancel.At()) {
				j.fail("%s is not to end: %+v", o.ID, is)
			}
		case is != nil || len(records) != 1 || records[0].State != jobstore.StateCanceled:
			j.fail("%s, which is not under way, is canceled as %+v, %+v", o.ID, is, records)
		default:
			j.note("canceled for good")
		}
	}
}

// judgeEnded judges the runs whose contexts end because somebody asked for that.
func (w *walk) judgeEnded(ids []string) {
	for _, r := range w.leader.runs {
		hit := w.isHit(r.open)
		if hit && !slices.Contains(ids, r.open.ID) {
			w.fail("the context of %s does not end", r.open.ID)
		}
		if slices.Contains(ids, r.open.ID) {
			if !hit {
				w.fail("the context of %s ends", r.open.ID)
			}
			w.note("ended")
			r.ends = earlier(r.ends, w.now.Add(w.upTo(5*time.Second)))
		}
	}
}
