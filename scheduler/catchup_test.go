package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/scheduler"
)

// away makes nobody lead from 62 s to 125 s: ticks of 70 s to 120 s are missed.
func (c *cluster) away(change func(*scheduler.Job)) *replica {
	a, b := c.leader("a"), c.idle("b")
	addBoth(a, b, "*/10 * * * * *", quick, change)
	c.SleepTo(62 * time.Second)
	a.leaves()
	c.SleepTo(125500 * time.Millisecond)
	b.takesOver()
	c.SleepTo(145 * time.Second)
	return b
}

func TestCatchUp_AfterATimeWithoutALeader(t *testing.T) {
	before := []string{"job 10s@10s", "job 20s@20s", "job 30s@30s", "job 40s@40s", "job 50s@50s", "job 1m0s@1m0s"}
	after := []string{"job 2m10s@2m10s", "job 2m20s@2m20s"}
	for name, test := range map[string]struct {
		catchUp scheduler.CatchUp
		late    []string
		missed  int
	}{
		"default": {scheduler.CatchUp{}, []string{"job 2m0s"}, 5},
		"last":    {scheduler.CatchUpLast(time.Minute), []string{"job 2m0s"}, 5},
		"all": {scheduler.CatchUpAll(time.Minute), []string{
			"job 1m10s", "job 1m20s", "job 1m30s", "job 1m40s", "job 1m50s", "job 2m0s",
		}, 0},
		"window": {scheduler.CatchUpAll(30 * time.Second), []string{"job 1m40s", "job 1m50s", "job 2m0s"}, 3},
		"none":   {scheduler.CatchUpNone(), nil, 6},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				b := c.away(func(job *scheduler.Job) { job.CatchUp = test.catchUp })
				var got []string
				for _, run := range c.records() {
					line := run.Job + " " + c.at(run.Tick)
					if late := run.start.Sub(run.Tick) > time.Second; !late {
						line += "@" + c.at(run.start)
					} else if !run.CaughtUp {
						t.Errorf("%s is not reported as caught up", line)
					}
					got = append(got, line)
				}
				var want []string
				want = append(append(append(want, before...), test.late...), after...)
				wantEqual(t, "ran", got, want)

				status, err := b.Jobs(t.Context())
				for _, s := range status {
					if s.Job == "job" && s.Missed != test.missed {
						t.Errorf("%d ticks are counted as missed, want %d", s.Missed, test.missed)
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The newest tick that the new spec has as well runs. The others up to the change are recorded as missed.
func TestCatchUp_AChangedSpecKeepsATickOfBoth(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "*/10 * * * * *", quick))
		b.add(b.job("job", "*/15 * * * * *", quick))
		c.SleepTo(22 * time.Second)
		a.leaves()
		c.SleepTo(65 * time.Second)
		b.takesOver()
		c.SleepTo(70 * time.Second)
		if s := b.status("job"); s.Missed != 3 || s.Reason != "" {
			t.Errorf("status %+v", s)
		}
		c.SleepTo(91 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "job 20s@20s", "job 1m0s@1m5s", "job 1m15s@1m15s", "job 1m30s@1m30s"})
	})
}

// A deploy over midnight runs the nightly tick, though the new build writes the spec in another way.
func TestDeploy_ASpecWrittenInAnotherWayIsNoChange(t *testing.T) {
	for _, specs := range [][2]string{{"@daily", "0 0 * * *"}, {"0 0 * * 1-5", "0 0 * * 1,2,3,4,5"}} {
		t.Run(specs[1], func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) { // it starts on a Sunday
				a, b := c.leader("a"), c.idle("b")
				a.add(a.job("job", specs[0], quick))
				b.add(b.job("job", specs[1], quick))
				c.SleepTo(24*time.Hour - time.Second)
				a.leaves()
				c.SleepTo(24*time.Hour + 2*time.Second)
				b.takesOver()
				c.SleepTo(24*time.Hour + time.Minute)
				wantEqual(t, "ran", c.ran(), []string{"job 24h0m0s@24h0m2s"})
				if s := b.status("job"); s.Missed != 0 || s.Own != "" {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

// Two builds with different jobs and specs lead in turn. Nothing runs twice, and a job that only one build has is caught up with
// when that build leads again.
func TestDeploy_BuildsThatDifferLeadInTurn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		old, next := c.idle("old"), c.idle("new")
		old.add(old.job("job", "*/10 * * * * *", quick), old.job("other", "*/20 * * * * *", quick))
		next.add(next.job("job", "5,15,25,35,45,55 * * * * *", quick))
		lead := func(r *replica, until time.Duration) {
			ctx, cancel := context.WithDeadline(t.Context(), c.Start.Add(until))
			defer cancel()
			if err := r.elector.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		lead(old, 32*time.Second)
		lead(next, 62*time.Second)
		lead(old, 92*time.Second)
		lead(next, 122*time.Second)
		wantEqual(t, "ran", c.ran(), []string{
			"job 10s@10s", "job 20s@20s", "other 20s@20s", "job 30s@30s",
			"job 35s@35s", "job 45s@45s", "job 55s@55s",
			"other 1m0s@1m2s", "job 1m10s@1m10s", "job 1m20s@1m20s", "other 1m20s@1m20s", "job 1m30s@1m30s",
			"job 1m35s@1m35s", "job 1m45s@1m45s", "job 1m55s@1m55s",
		})
		for _, test := range []struct {
			r              *replica
			job, spec, own string
		}{
			{old, "job", "5-55/10 * * * * *", "CRON_TZ=UTC */10 * * * * *"},
			{next, "job", "5-55/10 * * * * *", ""},
			{old, "other", "*/20 * * * * *", ""},
			{next, "other", "*/20 * * * * *", "none"},
		} {
			if s := test.r.status(test.job); s.Spec != test.spec || s.Own != test.own {
				t.Errorf("%s has %q for %s, itself %q", test.r.id, s.Spec, test.job, s.Own)
			}
		}
	})
}

// The jitter of a run may be longer than a run may be late without counting as caught up.
func TestJitter_DelaysRunsThatAreNotLate(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "*/20 * * * * *", quick)
		job.Jitter, job.CatchUp = 15*time.Second, scheduler.CatchUpNone()
		a.add(job)
		c.SleepTo(299 * time.Second)
		delays := make(map[time.Duration]bool)
		for _, run := range c.records() {
			delay := run.start.Sub(run.Tick)
			delays[delay] = true
			if delay < 0 || delay >= job.Jitter || run.CaughtUp {
				t.Errorf("%s %s started after %v, caught up: %v", run.Job, c.at(run.Tick), delay, run.CaughtUp)
			}
		}
		if ran := len(c.records()); ran != 14 || len(delays) < 10 || a.status("job").Missed > 0 {
			t.Errorf("%d ran, want 14; %d delays; %d were missed", ran, len(delays), a.status("job").Missed)
		}
	})
}

// A decision about a job with CatchUpAll. The leader's loop decides for all jobs.
func BenchmarkDue_InABacklog(b *testing.B) {
	const maxWindow = 366 * 24 * time.Hour
	for _, spec := range []string{"* * * * *", "* * * * * *", "30 2 * * *"} {
		for _, zone := range []string{"UTC", "Europe/Rome"} {
			for _, behind := range []time.Duration{time.Second, 24 * time.Hour, maxWindow} {
				b.Run(fmt.Sprintf("%s, %s, %v", spec, zone, behind), func(b *testing.B) {
					schedule, err := scheduler.Parse("CRON_TZ="+zone+" "+spec, nil)
					if err != nil {
						b.Fatal(err)
					}
					now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
					job := jobmachine.Job{
						Name: "job", Schedule: schedule.(jobmachine.Schedule), Tries: 1,
						CatchUp: jobmachine.CatchUp{All: true, Window: maxWindow},
					}
					state := jobstore.State{Since: now.Add(-2 * maxWindow), Mark: now.Add(-behind)}
					m, _ := jobmachine.Next(jobmachine.New(&job, "leader"), jobmachine.Prepared{
						Now: now, Basis: jobstore.Basis{Known: true, Written: jobstore.Written{State: state}},
					})
					for b.Loop() {
						jobmachine.Next(m, jobmachine.Due{Now: now, ID: "x"})
					}
				})
			}
		}
	}
}
