package dashboard

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const maxNotices = 5 // of a kind; what is left out is counted

// notice is something that somebody should look at.
type notice struct {
	Kind string // failed, missed, long, node or paused
	Job  string // empty: it is about no job
	Text string
	At   *time.Time
	Only string // of the notice for what was left out: the choice that has it all
}

// attention returns what a person on call asks for first, in that order: what failed and with which error, what did not run and
// why, what runs for too long, which nodes are away, who has paused what.
func attention(v *view) []notice {
	var all []notice
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
		lost := j.Last != nil && j.Last.State == scheduler.StateLost && j.Failures > 0 // it is among those that failed
		return notice{Text: "did not run: " + j.Why, At: j.WhyTick}, j.Why != "" && !j.Paused && !j.Running && !lost
	})
	of("long", "running", "that run for long", func(j *job) (notice, bool) {
		if j.Last == nil {
			return notice{}, false
		}
		return notice{Text: fmt.Sprintf("runs for %v on %s: %s", j.Last.Took, j.Last.Replica, j.Long), At: j.Last.Start}, j.Long != ""
	})
	of("other", "trouble", "that this replica has otherwise", func(j *job) (notice, bool) {
		return notice{Text: "this replica has something else for it: " + j.Own}, j.Own != ""
	})
	for _, n := range v.Nodes {
		switch {
		case n.Err != "":
			all = append(all, notice{Kind: "node", Text: fmt.Sprintf("node %s does not count: %s", n.Addr, n.Err)})
		case n.Guard > 0:
			all = append(all, notice{Kind: "node", Text: fmt.Sprintf("node %s has restarted and grants nothing for another %v", n.Addr, n.Guard)})
		}
	}
	of("paused", "paused", "that are paused", func(j *job) (notice, bool) {
		text := "paused"
		if p := j.Pause; p != nil {
			return notice{Text: "paused by " + p.who(), At: &p.At}, true
		}
		return notice{Text: text}, j.Paused
	})
	return all
}

// who says who has asked for a change, and why.
func (c *change) who() string {
	text := "somebody on " + c.Replica
	if c.By != "" {
		text = c.By + " on " + c.Replica
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// Who is who for the page.
func (c *change) Who() string { return c.who() }

// Alerts are the problems as the page has them: several parts that could not be read are one, with what the others say as details.
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
	var names, why []string
	for _, p := range parts {
		names = append(names, p.What)
		why = append(why, fmt.Sprintf("%s, %s: %s", p.What, p.Known, p.Why))
	}
	good := 0
	for _, n := range c.Nodes {
		if n.Err == "" {
			good++
		}
	}
	return append([]alert{{
		Text: fmt.Sprintf("The nodes could not be asked for %s: %d of %d nodes answer, %d are needed. What is shown of that is not new.",
			joined(names), good, len(c.Nodes), len(c.Nodes)/2+1),
		Known: parts[0].Known, Details: why,
	}}, all...)
}

// alert is a problem for the page.
type alert struct {
	Text, Known string
	Details     []string
}

// failed reports that a run has not come to a good end.
func (r *record) failed() bool {
	return r.State == scheduler.StateFailed || r.State == scheduler.StateLost || r.State == stateUnknown
}

// Quiet reports that nothing needs attention, as far as everything is known.
func (c *content) Quiet() bool { return len(c.Attention) == 0 && len(c.Problems) == 0 && c.Leads() }

const (
	longLeast = time.Minute // a run that takes less is not taken for too long
	longTimes = 10          // the last good one, as many times
)

// tooLong says why a run that is under way takes too long; empty: it does not.
func tooLong(s *scheduler.Status, now time.Time) string {
	took := now.Sub(s.Last.Start)
	if !s.Running || took < longLeast {
		return ""
	}
	ticks, err := scheduler.Preview("CRON_TZ="+s.Zone+" "+s.Spec, nil, s.Last.Start, 1)
	if err == nil && !s.Last.Manual && len(ticks) > 0 && ticks[0].Before(now) {
		return "longer than until its next tick"
	}
	if good := s.LastOK.End.Sub(s.LastOK.Start); !s.LastOK.End.IsZero() && good > 0 && took/longTimes > good {
		return fmt.Sprintf("its last good run took %v", duration(good))
	}
	return ""
}
