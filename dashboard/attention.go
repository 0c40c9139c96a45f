package dashboard

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// lostShown is how long a job that the nodes have lost needs attention: somebody may have to pause it again.
const lostShown = 24 * time.Hour

const maxNotices = 5 // of each kind; one more notice counts the rest

// notice is something that an operator should look at.
type notice struct {
	Kind string // replica, failed, missed, long, node or paused
	Job  string // empty: not about a job
	Text string
	At   *time.Time
	Only string // value of only that lists all jobs of the kind; set in the notice that counts the rest
}

// attention returns what a person on call needs first, in this order: the problems of this replica, what failed and with which error,
// what did not run and why, what runs too long, which jobs the nodes lost, which jobs this replica defines differently, which nodes
// do not count, and who has paused what.
func attention(v *view) []notice {
	var all []notice
	for i, p := range v.Replica.problems {
		all = append(all, notice{Kind: "replica", Text: "this replica: " + v.Replica.Check[i], At: when(p.Since)})
	}
	of := func(kind, only, left string, pick func(j *job) (notice, bool)) {
		n := 0
		for i := range v.Jobs {
			one, ok := pick(&v.Jobs[i])
			if !ok {
				continue
			}
			if n++; n <= maxNotices {
				one.Kind, one.Job = kind, v.Jobs[i].Name
				all = append(all, one)
			}
		}
		if n > maxNotices {
			all = append(all, notice{Kind: kind, Text: fmt.Sprintf("and %d more %s", n-maxNotices, left), Only: only})
		}
	}
	of("failed", "failed", "that failed", func(j *job) (notice, bool) {
		if j.Failures == 0 {
			return notice{}, false
		}
		text := fmt.Sprintf("failed %s in a row", number(j.Failures, "time", "times"))
		if j.Failures == 1 {
			text = "failed"
		}
		var at *time.Time
		if last := j.Last; last != nil && last.failed() {
			at = last.Start
			if last.Err != "" {
				text += ": " + last.Err
			}
		}
		return notice{Text: text, At: at}, true
	})
	of("missed", "trouble", "that did not run", func(j *job) (notice, bool) {
		lost := j.Last != nil && j.Last.State == scheduler.StateLost && j.Failures > 0 // listed as failed already
		return notice{Text: "did not run: " + j.Why, At: j.WhyTick}, j.Why != "" && !j.Paused && !j.Running && !lost
	})
	of("long", "trouble", "that run too long", func(j *job) (notice, bool) {
		if j.LongRun == nil {
			return notice{}, false
		}
		return notice{Text: fmt.Sprintf("has been running for %v on %s: %s", j.LongRun.Took, j.LongRun.Replica, j.Long), At: j.LongRun.Start}, true
	})
	of("other", "trouble", "that the nodes lost", func(j *job) (notice, bool) {
		return notice{Text: "a majority of nodes lost its state: its history and its pause may be gone", At: j.Lost},
			j.Lost != nil && v.Now.Sub(*j.Lost) < lostShown
	})
	of("other", "trouble", "that this replica defines differently", func(j *job) (notice, bool) {
		return notice{Text: "this replica defines it differently: " + j.Own}, j.Own != ""
	})
	for _, n := range v.Nodes {
		switch {
		case n.Err != "":
			all = append(all, notice{Kind: "node", Text: fmt.Sprintf("node %s does not count: %s", n.Addr, n.Err)})
		case n.Denied != "":
			all = append(all, notice{Kind: "node", Text: fmt.Sprintf("node %s denies the user a right: %s", n.Addr, n.Denied)})
		case n.Guard > 0:
			all = append(all, notice{Kind: "node", Text: fmt.Sprintf("node %s has started or lost its data, and grants nothing for another %v", n.Addr, n.Guard)})
		}
	}
	of("paused", "paused", "that are paused", func(j *job) (notice, bool) {
		text := "paused"
		if p := j.Pause; p != nil {
			return notice{Text: "paused by " + p.who(), At: &p.At}, j.Alone()
		}
		return notice{Text: text}, j.Paused
	})
	if p := v.AllPaused(); p != nil {
		all = append(all, notice{Kind: "paused", Text: "all jobs are paused by " + p.who(), At: &p.At})
	}
	return all
}

// Alone reports whether the job is paused by itself, and not only with all others.
func (j *job) Alone() bool { return j.Paused && (j.Pause == nil || j.Pause.What == "pause") }

// AllPaused returns the pause of all jobs, or nil if there is none.
func (v *view) AllPaused() *change {
	for i := range v.Jobs {
		if p := v.Jobs[i].Pause; p != nil && p.What == "pause all" {
			return p
		}
	}
	return nil
}

// who returns who asked for a change, until when it holds, and why.
func (c *change) who() string {
	text := "somebody on " + c.Replica
	if c.By != "" {
		text = c.By + " on " + c.Replica
	}
	if !c.Until.IsZero() {
		text += " until " + c.Until.Format("2006-01-02 15:04:05 UTC")
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// Who returns who, for the templates.
func (c *change) Who() string { return c.who() }

// Alerts returns the problems for the page. One alert covers all parts that could not be read; its details have their
// errors.
func (c *content) Alerts() []alert {
	var all []alert
	var parts []problem
	for _, p := range c.Problems {
		if p.stale {
			parts = append(parts, p)
			continue
		}
		all = append(all, alert{Text: p.What + ": " + p.Why, Known: p.Known})
	}
	if len(parts) == 0 {
		return all
	}
	var names, why, never []string
	for _, p := range parts {
		names = append(names, p.What)
		if p.Known == notKnown {
			never = append(never, p.What)
		}
		why = append(why, fmt.Sprintf("%s, %s: %s", p.What, p.Known, p.Why))
	}
	good := 0
	for _, n := range c.Nodes {
		if n.Err == "" {
			good++
		}
	}
	shown := "The page shows the last known state."
	if len(never) > 0 {
		shown = "Nothing is known of " + joined(never) + " yet."
	}
	return append([]alert{{
		Text: fmt.Sprintf("Failed to read %s from the nodes: %d of %d nodes answer, %d are needed. %s",
			joined(names), good, len(c.Nodes), len(c.Nodes)/2+1, shown),
		Known: parts[0].Known, Details: why,
	}}, all...)
}

// alert is a problem for the page.
type alert struct {
	Text, Known string
	Details     []string
}

// failed reports whether a run failed, was lost, or has an unknown outcome.
func (r *record) failed() bool {
	return r.State == scheduler.StateFailed || r.State == scheduler.StateLost || r.State == stateUnknown
}

// Quiet reports whether everything is known and nothing needs attention.
func (c *content) Quiet() bool { return len(c.Attention) == 0 && len(c.Problems) == 0 && c.Leads() }

const (
	longLeast = time.Minute // a shorter run is too long only if the job's Timeout has passed
	longTimes = 10          // a run that takes this many times as long as the last good one is too long
)

// tooLong returns the run under way that takes too long, and why. why is "" if none does.
func tooLong(s *scheduler.Status, now time.Time) (run *scheduler.Record, why string) {
	if s.Overrun.ID != "" {
		return &s.Overrun, firstLine(s.Overrun.Err)
	}
	took := now.Sub(s.Last.Start)
	if !s.Running || took < longLeast {
		return nil, ""
	}
	ticks, err := scheduler.Preview("CRON_TZ="+s.Zone+" "+s.Spec, nil, s.Last.Start, 1)
	if err == nil && !s.Last.Manual && len(ticks) > 0 && ticks[0].Before(now) {
		return &s.Last, "it is still running at its next tick"
	}
	if good := s.LastOK.End.Sub(s.LastOK.Start); !s.LastOK.End.IsZero() && good > 0 && took/longTimes > good {
		return &s.Last, fmt.Sprintf("its last good run took %v", duration(good))
	}
	return nil, ""
}
