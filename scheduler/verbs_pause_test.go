package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A tick that came during a pause that lasts will not run by itself. Rerun runs it, as it does when the pause has ended.
func TestVerbs_RerunOfATickInAPause(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprint("all ", all), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				a.add(a.job("job", "0 * * * * *", quick))
				c.SleepTo(90 * time.Second)
				if all {
					c.must(a.PauseAll(t.Context()))
				} else {
					c.must(a.Pause(t.Context(), "job"))
				}
				c.SleepTo(150 * time.Second)
				if r, err := a.RerunAndWait(t.Context(), "job", c.instant(2*time.Minute)); err != nil || r.State != scheduler.StateOK {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

// Somebody pauses a job whose run kills each process. The repeat waits for the end of the pause, as it does if it is due at once.
func TestVerbs_APauseHoldsARepeat(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		_, p := c.deadly(10 * time.Second)
		n := len(c.records())
		c.must(p.Pause(t.Context(), "job"))
		time.Sleep(5 * time.Minute)
		if runs := c.records(); len(runs) != n {
			t.Errorf("it ran again during the pause: %+v", runs[n:])
		}
	})
}

// Somebody resumes what is not paused. No tick is lost by that.
func TestVerbs_AResumeOfWhatIsNotPaused(t *testing.T) {
	resume := map[string]func(r *replica) error{
		"resume":     func(r *replica) error { return r.Resume(r.c.T.Context(), "job") },
		"resume all": func(r *replica) error { return r.ResumeAll(r.c.T.Context()) },
		"nothing":    func(*replica) error { return nil },
	}
	for what, do := range resume {
		t.Run(what+" while nobody leads", func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
				addBoth(a, b, "0 2 0 * * *", quick)
				c.SleepTo(time.Minute)
				a.leaves()
				c.SleepTo(5 * time.Minute)
				c.must(do(p))
				c.SleepTo(10 * time.Minute)
				b.takesOver()
				c.SleepTo(20 * time.Minute)
				if n := len(c.records()); n != 1 {
					t.Errorf("the tick of 2m has not run; recorded %q", b.rows("job"))
				}
			})
		})
		t.Run(what+" while a tick waits for a run", func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, p := c.leader("a"), c.idle("p")
				job := a.job("job", "0 1,2 0 * * *", lasting(3*time.Minute))
				job.Overlap = scheduler.Queue
				a.add(job)
				c.SleepTo(150 * time.Second)
				c.must(do(p))
				c.SleepTo(20 * time.Minute)
				if n := len(c.records()); n != 2 {
					t.Errorf("the tick of 2m has not run; recorded %q", a.rows("job"))
				}
			})
		})
	}
	t.Run("resume all after the pause of all has ended by itself", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			a, p := c.leader("a"), c.idle("p")
			job := a.job("job", "0 1,2 0 * * *", lasting(3*time.Minute))
			job.Overlap = scheduler.Queue
			a.add(job)
			c.SleepTo(20 * time.Second)
			c.must(p.PauseAll(t.Context(), scheduler.Until(c.instant(40*time.Second))))
			c.SleepTo(150 * time.Second)
			c.must(p.ResumeAll(t.Context())) // to be sure
			c.SleepTo(20 * time.Minute)
			if n := len(c.records()); n != 2 {
				t.Errorf("the tick of 2m has not run; recorded %q", a.rows("job"))
			}
		})
	})
}

// A process whose own clock differs from the nodes' makes its first call.
func TestVerbs_UntilIsByTheNodesClocks(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.jumpAll(3, 24*time.Hour)
		a := c.leader("a")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(time.Minute)
		p := c.idle("p")
		err := p.Pause(t.Context(), "job", scheduler.Until(c.instant(23*time.Hour))) // an hour ago, by the nodes' clocks
		if err == nil {
			t.Errorf("it is accepted; paused %v", a.status("job").Paused)
		}
	})
}

// A pause has ended by itself. A tick that nothing explains is noticed, as without the pause.
func TestVerbs_AnOverdueTickAfterAPause(t *testing.T) {
	for name, pause := range map[string]func(c *cluster, a *replica) error{
		"none": func(*cluster, *replica) error { return nil },
		"of the job": func(c *cluster, a *replica) error {
			return a.Pause(c.T.Context(), "job", scheduler.Until(c.instant(time.Minute)))
		},
		"of all": func(c *cluster, a *replica) error {
			return a.PauseAll(c.T.Context(), scheduler.Until(c.instant(time.Minute)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				a.add(a.job("job", "*/10 * * * * *", quick))
				c.SleepTo(25 * time.Second)
				c.must(pause(c, a))
				c.SleepTo(2*time.Minute + 5*time.Second)
				a.ForgetWakes()
				c.SleepTo(30 * time.Minute)
				if err := a.elector.Check(); !errors.Is(err, election.ErrRestart) {
					t.Errorf("after %d runs, the last tick 28 minutes ago, Check says %v", len(c.records()), err)
				}
			})
		})
	}
}

// Somebody pauses while nobody leads. A tick that comes during the pause does not run when somebody leads.
func TestVerbs_APauseWhileNobodyLeads(t *testing.T) {
	for what, pause := range map[string]func(c *cluster, p *replica) error{
		"pause":     func(c *cluster, p *replica) error { return p.Pause(c.T.Context(), "job") },
		"pause all": func(c *cluster, p *replica) error { return p.PauseAll(c.T.Context()) },
	} {
		for _, jobs := range []int{1, 3} {
			t.Run(fmt.Sprint(what, " with jobs ", jobs), func(t *testing.T) {
				inBubble(t, 3, func(t *testing.T, c *cluster) {
					a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
					for _, name := range []string{"job", "first", "second"}[:jobs] {
						a.add(a.job(name, "0 2 0 * * *", quick))
						b.add(b.job(name, "0 2 0 * * *", quick))
					}
					c.SleepTo(time.Minute)
					a.leaves()
					c.SleepTo(90 * time.Second)
					c.must(pause(c, p))
					c.SleepTo(10 * time.Minute)
					b.takesOver()
					c.SleepTo(20 * time.Minute)
					if n := c.runsOf("job"); n != 0 {
						t.Errorf("paused since 1m30s, and ran %v", c.ran())
					}
				})
			})
		}
	}
}

// The leader is replaced while all jobs are paused by a request that it has not applied.
func TestVerbs_AnEndOfAPauseWhileNobodyLeads(t *testing.T) {
	for what, resume := range map[string]func(c *cluster, p *replica) error{
		"of the job": func(c *cluster, p *replica) error { return p.Resume(c.T.Context(), "job") },
		"of all":     func(c *cluster, p *replica) error { return p.ResumeAll(c.T.Context()) },
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
				addBoth(a, b, "0 2,5 0 * * *", quick)
				c.SleepTo(time.Minute)
				if what == "of all" {
					c.must(p.PauseAll(t.Context()))
				} else {
					c.must(p.Pause(t.Context(), "job"))
				}
				c.SleepTo(70 * time.Second)
				a.leaves()
				c.SleepTo(3 * time.Minute)
				c.must(resume(c, p))
				c.SleepTo(10 * time.Minute)
				b.takesOver()
				c.SleepTo(20 * time.Minute)
				wantEqual(t, "ran", c.ran(), []string{"job 5m0s@10m0s"})
			})
		})
	}
}

// The leader has not learned of a pause of all jobs when it dies. The next one does not run the ticks since.
func TestVerbs_APauseOfAllThatItsLeaderNeverLearned(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
		addBoth(a, b, "0 * * * * *", quick)
		c.SleepTo(90 * time.Second)
		a.links.Cut() // a dies
		c.must(p.PauseAll(t.Context()))
		c.SleepTo(5 * time.Minute)
		b.takesOver()
		c.SleepTo(10 * time.Minute)
		wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s"})
	})
}
