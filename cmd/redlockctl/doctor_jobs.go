package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// longPause is how long a pause may last before it is a problem.
const longPause = 24 * time.Hour

// judgeJobs judges the jobs. All that wait for a leader get one judgment.
func (d *diagnosis) judgeJobs(all []scheduler.Status, err error) {
	if err != nil {
		d.problem("jobs", "%s", oneLine(err))
		return
	}
	if len(all) == 0 {
		d.note("jobs", "the nodes have none: no leader has stored any yet, or they are lost")
		return
	}
	before, leaderless := len(d.all), 0
	for i := range all {
		if st := &all[i]; st.Leader == "" && !st.Paused && !st.ReasonTick.IsZero() {
			leaderless++
		} else {
			d.judgeJob(st)
		}
	}
	if leaderless > 0 {
		d.problem("jobs", "%d of %d wait for a leader", leaderless, len(all))
	}
	if len(d.all) == before {
		d.well("jobs", "%d, none of them late, paused or failing", len(all))
	}
}

// judgeJob adds what is special about a job.
func (d *diagnosis) judgeJob(st *scheduler.Status) {
	switch {
	case st.Reason != "" && st.ReasonTick.IsZero():
		d.problem("jobs", "%s cannot be read: %s", st.Job, st.Reason)
		return
	case st.Paused:
		judge := d.note
		if st.Pause.Until.IsZero() && time.Since(st.Pause.At) > longPause {
			judge = d.problem
		}
		pause := ops.ChangeOf(st.Pause)
		judge("jobs", "%s is %s", st.Job, pauseOf(&pause))
	case st.Removed:
		d.note("jobs", "%s has no owner: it was removed; scheduler.Scheduler.Forget deletes it", st.Job)
	case st.Unowned && st.Leader != "":
		d.problem("jobs", "%s has no owner: %s leads and does not have it; add it there, or remove it", st.Job, st.Leader)
	case isLate(st):
		d.problem("jobs", "%s is late since %s: %s", st.Job, at(st.ReasonTick), st.Reason)
	case st.Reason != "" && !st.Running && st.Last.State != scheduler.StateLost:
		d.problem("jobs", "%s did not run at %s: %s", st.Job, at(st.ReasonTick), st.Reason)
	}
	if st.Failures > 0 {
		text := fmt.Sprintf("%s has failed, runs in a row: %d", st.Job, st.Failures)
		if !st.Running {
			text += fmt.Sprintf(", the last at %s: %s", at(st.Last.Start), st.Last.Err)
		}
		d.problem("jobs", "%s", text)
	}
	if run := st.Overrun; run.ID != "" && st.Leader != "" && run.Replica == st.Leader {
		d.problem("jobs", "%s runs on %s since %s: %s", st.Job, run.Replica, at(run.Start), run.Err)
	}
	if time.Since(st.DataLost) < ops.LostShown {
		d.problem("jobs", "%s: a majority of nodes lost its state at %s: its history and its pause may be gone", st.Job,
			at(st.DataLost))
	}
}

// isLate reports whether somebody leads and a tick has neither started nor been recorded.
func isLate(st *scheduler.Status) bool {
	return strings.Contains(st.Reason, "and has not started it")
}
