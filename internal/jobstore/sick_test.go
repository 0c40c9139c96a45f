package jobstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Somebody has written garbage for one job on a majority of the nodes.
func TestPage_ASickJobHidesNoOther(t *testing.T) {
	const jobs, settings = "{redlock}:jobs:x", "{redlock}:requests:x"
	for _, test := range []struct{ key, field, value string }{
		{settings, "p:sick", "x"}, {settings, "p:sick", ""}, {settings, "t:sick", "yesterday, by me"},
		{settings, "p:sick", "0000000000000001"}, {jobs, "sick", ""}, {jobs, "sick", "x"},
	} {
		t.Run(test.key+" "+test.field+"="+test.value, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.writer("a")
				a.mustPrepare("good", "sick")
				a.writeNamed("good", "sick", "well")
				time.Sleep(timeout)
				for i := range 2 {
					c.Node(i).HSet(test.key, test.field, test.value)
				}
				a.links.Cut(2)
				page, err := a.Page(t.Context(), "", 10)
				views := page.Views()
				if err != nil || len(views) != 3 {
					t.Fatalf("%d jobs, %v", len(views), err)
				}
				for i, name := range []string{"good", "sick", "well"} {
					v := views[i]
					if v.Job != name || name != "sick" && (v.Err != nil || v.State.Plan != name) {
						t.Errorf("job %d is %+v", i, v)
					}
				}
				if sick := views[1]; (sick.Err == nil) != (sick.State.Plan == "sick") || test.key == jobs && sick.Err == nil {
					t.Errorf("the sick one is %+v", sick)
				}
				for _, p := range a.mustPrepare("good", "sick")[:2] { // a leader can start
					if p.Err != nil || p.Jobs[0].Err != nil {
						t.Errorf("node %d: %v, %v", p.Node, p.Err, p.Jobs[0].Err)
					}
				}
				a.writeNamed("good")
			})
		})
	}
}

// A record of the far future on one node would be the newest forever, and one after the year 9999 cannot be encoded as JSON.
func TestHistory_NoneOfTheFarFuture(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare(job)
		at := c.Start.Truncate(time.Second).UTC()
		good := jobstore.Record{Slot: jobstore.Slot{At: at}, ID: "1", State: jobstore.StateOK, Start: at, End: at.Add(time.Second)}
		if errs, _ := a.writeAll(&jobstore.Write{Job: job, State: &jobstore.State{}, Ended: []jobstore.Record{good}}); errs[0] != nil {
			t.Fatal(errs[0])
		}
		for _, record := range []string{
			"t253402300800000,ok,2,,0,x,0,1",          // tick, start and end in the year 10000
			"t253402300000000,ok,3,,0,x,0,1000000000", // only the end in the year 10000
			"t16725225600000,ok,5,,0,x,0,1",           // in 2500
			"m16725225600000000,missed,6,,0,x",
			"t-99999999999999,ok,7,,0,x,0,1",
			"t" + fmt.Sprint(at.Add(time.Hour).UnixMilli()) + ",ok,8,,0,x,0,1", // before the clocks were set back
		} {
			if _, err := c.Node(1).Lpush("{redlock}:runs:x:"+job, record); err != nil {
				t.Fatal(err)
			}
		}
		a.links.Cut(2)
		records, err := a.History(t.Context(), job, 10)
		if err != nil || len(records) != 2 || records[0] != good || records[1].ID != "8" {
			t.Errorf("%v, %+v", err, records)
		}
	})
}

func endedAt(r jobstore.Record, at time.Time) *jobstore.Record {
	r.End = at
	return &r
}

// A time of the future, or a mark of the far future, in a node's state is that node's error. Otherwise the other nodes would take
// over the state, and nothing would happen until then.
func TestPrepare_AStateOfATimeToComeIsNotBelieved(t *testing.T) {
	for name, spoil := range map[string]func(s *jobstore.State, at time.Time){
		"since":  func(s *jobstore.State, at time.Time) { s.Since = at },
		"manual": func(s *jobstore.State, at time.Time) { s.Manual = settingAt(at.Add(10*year), "ffffff").Mark },
		"cancel": func(s *jobstore.State, at time.Time) { s.Canceled = settingAt(at.Add(10*year), "ffffff").Mark },
		"rerun": func(s *jobstore.State, at time.Time) {
			s.Reruns = []jobstore.Rerun{{Tick: s.Since, Mark: settingAt(at.Add(10*year), "ffffff").Mark}}
		},
		"open":                 func(s *jobstore.State, at time.Time) { s.Open[0].Began = at },
		"lost":                 func(s *jobstore.State, at time.Time) { s.Lost = at },
		"not run":              func(s *jobstore.State, at time.Time) { s.NotRun.Tick = at },
		"pause":                func(s *jobstore.State, at time.Time) { s.Pause = settingAt(at, "ffffff") },
		"end of the last run":  func(s *jobstore.State, at time.Time) { s.Last = endedAt(*s.Last, at) },
		"end of the last good": func(s *jobstore.State, at time.Time) { s.LastOK = endedAt(*s.LastOK, at) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.writer("a")
				a.mustPrepare("job")
				run := jobstore.Record{Slot: jobstore.Slot{At: c.Start}, ID: "r", State: jobstore.StateOK, Start: c.Start, End: c.Start}
				other := run
				other.ID = "another"
				state := jobstore.State{Since: c.Start, Mark: c.Start, Last: &run, LastOK: &other,
					Open: []jobstore.Open{{Slot: run.Slot, ID: "o", Attempt: 1, Tries: 1, Start: c.Start}}}
				for _, ahead := range []time.Duration{time.Second, time.Hour} {
					s := state
					s.Open = slices.Clone(state.Open)
					spoil(&s, time.Now().Add(ahead))
					if errs, _ := a.writeAll(&jobstore.Write{Job: "job", State: &s}); errs[0] != nil {
						t.Fatal(errs[0])
					}
					for _, p := range a.mustPrepare("job") {
						if err := p.Jobs[0].Err; errors.Is(err, jobstore.ErrAhead) != (ahead == time.Hour) || ahead < time.Minute && err != nil {
							t.Errorf("%v ahead, node %d has %+v: %v", ahead, p.Node, p.Jobs[0].State, err)
						}
					}
				}
			})
		})
	}
}
