package jobmachine_test

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// waiting returns the run of a slot that waits for its next attempt, or nil.
func waiting(open []jobstore.Open, slot jobstore.Slot) *jobstore.Open {
	if i := slices.IndexFunc(open, func(o jobstore.Open) bool { return o.Slot == slot && o.Waits() }); i >= 0 {
		return &open[i]
	}
	return nil
}

// paused reports whether a run has returned and waits for its next attempt, and no write has stored that.
func (w *walk) paused(id string) bool {
	return slices.ContainsFunc(w.leader.returned, func(r jobmachine.Returned) bool { return r.ID == id && r.Pause > 0 })
}

// judgePaused judges a run that has returned and waits for its next attempt.
func (j *judgment) judgePaused(r jobmachine.Returned, o jobstore.Open, records []jobstore.Record) {
	open, at := find(j.is.Open, r.ID), r.End.Add(r.Pause)
	switch {
	case open == nil && j.job.Overlap == jobmachine.Replace && len(records) == 1 && records[0].Err == jobmachine.ReasonReplaced:
	case open == nil || len(records) > 0 || open.Attempt != r.Attempt+1 || open.Attempt+open.Tries != o.Attempt+o.Tries:
		j.fail("%s waits for its next attempt: %+v, records %+v", r.ID, open, records)
	case open.Waits() && !open.NotBefore.Equal(at), !open.Waits() && at.After(j.due.Now.Add(time.Millisecond)):
		j.fail("%s goes on not before %s: %+v", r.ID, at, open)
	}
}

// judgeGivenUp judges a run that does not wait for its next attempt any more: it goes on under another ID, or has failed.
func (j *judgment) judgeGivenUp(o jobstore.Open, records []jobstore.Record) {
	for _, r := range j.retried {
		if r.Slot == o.Slot && len(records) == 0 && r.Attempt == o.Attempt && r.Tries == o.Tries && r.Token == j.leader.token {
			j.note("retry taken over")
			return
		}
	}
	replaced, state := j.job.Overlap == jobmachine.Replace, jobstore.StateFailed
	if o.Attempt == 1 {
		state = jobstore.StateMissed
	}
	if len(records) != 1 || records[0].State != state || records[0].Attempt != o.Attempt-1 || !j.leader.removed && !replaced {
		j.fail("%+v waited for its next attempt and is gone, and the records are %+v", o, records)
	}
}
