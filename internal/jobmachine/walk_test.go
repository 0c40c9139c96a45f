package jobmachine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

var (
	walkEvents = flag.Int("jobmachine.events", 60_000, "how many events TestNext_KeepsThePromises plays")
	walkLog    = flag.Int("jobmachine.log", 60, "how many lines TestNext_KeepsThePromises prints of a walk that fails")
	walkSeed   = flag.Uint64("jobmachine.seed", 0, "the only walk that TestNext_KeepsThePromises plays; 0: random ones")
)

// walkLength is the largest number of events in a walk.
const walkLength = 600

// TestNext_KeepsThePromises plays leaders of one job over simulated nodes. Writes are stored, fail, or reach some nodes. Runs
// return, hang, or outlive their leader. People pause, resume and trigger the job; it is removed and changed. Leaders stop, crash
// and stall, and nodes lose their state. A reference follows each tick and each run, and judges each write. To play a failed walk
// again, use -jobmachine.seed=N.
func TestNext_KeepsThePromises(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for total := 0; total < *walkEvents; {
		seed := *walkSeed
		if seed == 0 {
			seed = rand.Uint64() | 1
		}
		w := newWalk(seed, counts)
		if w.play(); w.failure != "" {
			again := newWalk(seed, counts)
			again.logs = true
			again.play()
			t.Fatalf("%s", again)
		}
		if total += w.events; *walkSeed != 0 {
			return
		}
	}
	t.Logf("%v", counts)
	for _, what := range []string{
		"started", "caught up", "waited", "skipped", "missed", "canceled", "canceled for good", "ended", "deadly", "kept", "lost", "taken over", "unstarted", "lost state",
		"triggered", "expired", "paused", "pause over", "removed", "changed", "alone", "held", "retried", "retry taken over",
	} {
		if *walkEvents >= 50_000 && counts[what] == 0 {
			t.Errorf("no walk had %q, so the test proves nothing about it", what)
		}
	}
}

// play plays a walk until something fails.
func (w *walk) play() {
	defer func() {
		if problem := recover(); problem != nil && w.failure == "" {
			w.failure = fmt.Sprintf("panic: %v\n%s", problem, debug.Stack())
		}
	}()
	w.now = day.Add(w.upTo(time.Hour).Truncate(time.Microsecond))
	w.nodes.floor = w.now.Add(w.upTo(jobstore.Ahead))
	w.job = w.drawJob()
	w.lead(w.newProcess())
	for w.events < walkLength {
		w.step()
	}
	w.settle()
}

func newWalk(seed uint64, counts map[string]int) *walk {
	return &walk{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), counts: counts,
		plans:  map[string]jobmachine.Schedule{},
		starts: map[jobstore.Slot][]attempt{}, unstarted: map[string]string{},
	}
}

// drawJob draws a job that differs from the present one, if there is one, in any way.
func (w *walk) drawJob() *jobmachine.Job {
	j := &jobmachine.Job{Name: "job"}
	switch {
	case w.job != nil && w.chance(60): // the plan stays
		j.Plan, j.Schedule = w.job.Plan, w.job.Schedule
	default:
		j.Plan, j.Schedule = w.drawPlan()
	}
	w.plans[j.Plan] = j.Schedule
	w.interval = max(j.Schedule.Next(w.now).Sub(w.now), intervals[j.Plan])
	j.Overlap = []jobmachine.Overlap{jobmachine.Skip, jobmachine.Queue, jobmachine.Replace, jobmachine.Allow}[w.rng.IntN(4)]
	j.CatchUp.All = w.chance(40)
	windows := []time.Duration{jobmachine.LateTolerance, 30 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour}
	j.CatchUp.Window = windows[w.rng.IntN(len(windows))]
	if w.chance(40) {
		j.Jitter = []time.Duration{w.interval / 3, w.interval, 5 * w.interval}[w.rng.IntN(3)]
	}
	j.Tries = w.rng.IntN(4)
	j.AtLeastOnce = w.chance(40)
	j.MaxDeaths, j.Wait, j.MaxWait = w.rng.IntN(4), w.upTo(w.interval), w.interval
	return j
}

// intervals has the usual interval between the ticks of a plan.
var intervals = map[string]time.Duration{
	"second": time.Second, "ten": 10 * time.Second, "minute": time.Minute, "gaps": time.Minute, "ends": 10 * time.Second,
}

func (w *walk) drawPlan() (string, jobmachine.Schedule) {
	switch w.rng.IntN(8) {
	case 0, 1:
		return "second", every(time.Second)
	case 2, 3:
		return "ten", every(10 * time.Second)
	case 4, 5:
		return "minute", every(time.Minute)
	case 6:
		return "gaps", withGaps{}
	}
	return "ends", until{every(10 * time.Second), day.Add(100 * time.Minute)}
}
