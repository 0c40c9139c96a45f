package jobmachine_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// held has, by the row of the table, leaders at 121 s of a job of every minute. Its tick of 120 s has come, and its run has not begun.
var held = map[string]func(t *testing.T) *rig{
	"It waits for its jitter": func(t *testing.T) *rig {
		j := minutely()
		j.Jitter = 50 * time.Second
		if wait := j.StartOf(sec(120)).Sub(sec(121)); wait < time.Second {
			t.Fatalf("its jitter is over in %v", wait)
		}
		return lead(t, j, 61, stateOf(j, 60)).at(121).work()
	},
	"It waits for a run before it (`Queue`)": func(t *testing.T) *rig {
		j := withOverlap(jobmachine.Queue)
		return lead(t, j, 60, stateOf(j, 0)).work().at(121).work()
	},
	"It takes the place of a run (`Replace`)": func(t *testing.T) *rig {
		j := withOverlap(jobmachine.Replace)
		return lead(t, j, 60, stateOf(j, 0)).work().at(121).work()
	},
	"A run of an earlier leader may be under way": func(t *testing.T) *rig {
		j := minutely()
		r := lead(t, j, 121, stateOf(j, 60), withOpen(openAt(60, false)))
		r.unknown = true
		return r.work()
	},
	"Too few nodes have stored it": func(t *testing.T) *rig {
		j := minutely()
		r := lead(t, j, 61, stateOf(j, 60)).work().at(120)
		r.due()
		r.failed()
		return r.at(121)
	},
	"Nobody led": func(t *testing.T) *rig {
		j := minutely()
		return lead(t, j, 121, stateOf(j, 60))
	},
}

// changes has the columns of the table.
var changes = map[string]func(r *rig) *rig{
	"the job is paused": func(r *rig) *rig {
		r.wants(jobstore.ToPause, setting(121.5, true))
		return r
	},
	"the job is removed": func(r *rig) *rig {
		r.send(jobmachine.Removed{})
		return r
	},
	"a new spec has it, too": func(r *rig) *rig { return r.replan("half", every(30*time.Second)) },
	"a new spec lacks it":    func(r *rig) *rig { return r.replan("odd", every(50*time.Second)) },
	"the leader stops": func(r *rig) *rig {
		r.send(jobmachine.Drain{})
		for len(r.underWay) > 0 {
			r.returns().work()
		}
		return lead(r.t, r.m.Job(), r.now.Sub(day).Seconds(), r.m.State())
	},
}

// replan changes the plan of the job.
func (r *rig) replan(plan string, s jobmachine.Schedule) *rig {
	j := *r.m.Job()
	j.Plan, j.Schedule = plan, s
	r.send(jobmachine.Added{Job: &j, Before: r.m.Job().Schedule})
	return r
}

// outcome plays a minute after the change, and returns what has become of the tick of 120 s.
func (r *rig) outcome() string {
	r.unknown = false
	r.send(jobmachine.Free{Now: r.now})
	var all []string
	see := func() {
		for _, s := range r.started {
			if s.Open.Slot == tick(120) {
				all = append(all, "starts")
			}
		}
		for _, rec := range r.reported {
			first := rec.From
			if rec.Ticks == 0 {
				first = rec.Slot.At
			}
			if rec.State == jobstore.StateMissed && !first.After(sec(120)) && !rec.Slot.At.Before(sec(120)) {
				all = append(all, "missed")
			}
		}
	}
	r.work()
	see()
	for s := 122.0; s < 179; s++ {
		for len(r.underWay) > 0 {
			r.returns()
		}
		r.at(s).work()
		see()
	}
	return strings.Join(all, ", ")
}

// Each tick that has come and not begun has one outcome, which the documents tell.
func TestNext_ATickThatHasNotBegun(t *testing.T) {
	page, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| Why it has not begun")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	columns := strings.Split(strings.Trim(rows[0], "| "), " | ")
	if want := slices.Sorted(maps.Keys(changes)); !slices.Equal(slices.Sorted(slices.Values(columns)), want) {
		t.Fatalf("columns %q, want %q", columns, want)
	}
	if got, want := len(rows)-2, len(held); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	for _, line := range rows[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		for i, want := range cells[1:] {
			t.Run(cells[0]+", and "+columns[i], func(t *testing.T) {
				if got := changes[columns[i]](held[cells[0]](t)).outcome(); got != want {
					t.Errorf("it %s, want %s", got, want)
				}
			})
		}
	}
}
