package jobmachine_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// readsItsOwnWrite makes the leader one that has sent a write of which it has no reply, and reads the nodes again. They have the write.
func (r *rig) readsItsOwnWrite() *rig {
	r.t.Helper()
	write := r.due()
	if write == nil {
		r.t.Fatal("there is nothing to write")
	}
	r.seq++
	r.failed()
	r.send(jobmachine.Unprepared{})
	basis := known(*write.State)
	basis.At = jobstore.At{Ballot: "b", Seq: r.seq}
	r.send(jobmachine.Prepared{Now: r.now, Basis: basis, Absence: "nobody led"})
	return r
}

// A leader that opened a run and did not start it starts it, whatever it is for.
func TestNext_AnUnstartedRunIsStarted(t *testing.T) {
	day := func() *jobmachine.Job {
		j := minutely()
		j.Plan, j.Schedule = "day", every(24*time.Hour)
		return j
	}
	t.Run("a tick", func(t *testing.T) {
		r := lead(t, minutely(), 50, stateOf(minutely(), 0)).work().at(60)
		r.readsItsOwnWrite().work().want("run 60s")
	})
	t.Run("a trigger", func(t *testing.T) {
		r := lead(t, day(), 100, stateOf(day(), 99)).work()
		r.triggered(100)
		r.readsItsOwnWrite().work().want("run manual 100s")
	})
	t.Run("a rerun", func(t *testing.T) {
		r := lead(t, day(), 100, stateOf(day(), 99)).work()
		r.send(rerunOf(60, 100))
		r.readsItsOwnWrite().work().want("run manual 60s attempt 2")
	})
	t.Run("a retry", func(t *testing.T) {
		j := minutely()
		j.Tries = 3
		r := lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
		r.at(61).returns(func(e *jobmachine.Returned) { e.State, e.Pause = jobstore.StateFailed, 10*time.Second })
		r.work().at(71)
		r.readsItsOwnWrite().work().want("run 60s attempt 2")
	})
}

// A request to end runs ends those that had begun by then. One that began later, and whose repeat waits, goes on.
func TestNext_ACancelFromBeforeARun(t *testing.T) {
	j := minutely()
	j.AtLeastOnce, j.Schedule, j.Plan = true, every(24*time.Hour), "day"
	state := stateOf(j, 60)
	state.Open = []jobstore.Open{{Slot: tick(60), ID: "x1", Attempt: 3, Tries: 1, Deaths: 2, Began: sec(61), NotBefore: sec(90)}}
	r := lead(t, j, 80, state)
	r.wants(jobstore.ToCancel, setting(30, true)) // before the tick
	r.work().want("")
	r.at(91).work().want("run 60s attempt 3")
}
