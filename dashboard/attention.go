package dashboard

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// maxNotices limits the notices of each kind, and so the page's size; one more notice counts the rest.
const maxNotices = 200

// notice is something that an operator should look at.
type notice struct {
	Kind string // replica, failed, missed, long, node, paused or other
	Job  string // empty: not about a job
	Text string
	At   *time.Time
	Only string // value of only that lists all jobs of the kind; set in the notice that counts the rest
}

// ID identifies the notice on the page, also when its text changes.
func (n notice) ID() string {
	if n.Job == "" && n.Only == "" {
		return rowID("notice " + n.Text)
	}
	return rowID("notice " + n.Kind + " " + n.Job)
}

// concern is something about a job that needs attention.
type concern struct {
	kind, only string
	left       string // what the jobs beyond maxNotices have in common
	of         func(v *view, j *job) (notice, bool)
}

// concerns are all concerns, in the order in which a person on call needs them.
var concerns = []concern{
	{"failed", "failed", "that failed", func(_ *view, j *job) (notice, bool) { return failure(j), j.Fails() }},
	{"missed", "trouble", "that did not run", func(_ *view, j *job) (notice, bool) {
		lost := j.Last != nil && j.Last.State == scheduler.StateLost && j.Fails() // listed as failed already
		if j.WhyTick == nil {
			return notice{Text: "cannot be read: " + j.Why}, j.Misses()
		}
		return notice{Text: "did not run: " + j.Why, At: j.WhyTick}, j.Misses() && !lost
	}},
	{"long", "trouble", "that run too long", func(_ *view, j *job) (notice, bool) {
		if j.LongRun == nil {
			return notice{}, false
		}
		text := fmt.Sprintf("has been running for %v on %s: %s", j.LongRun.Took, j.LongRun.Replica, j.Long)
		return notice{Text: text, At: j.LongRun.Start}, true
	}},
	{"other", "trouble", "that the nodes lost", func(v *view, j *job) (notice, bool) {
		return notice{Text: "a majority of nodes lost its state: its history and its pause may be gone", At: j.Lost},
			j.Lost != nil && v.Now.Sub(*j.Lost) < ops.LostShown
	}},
	{"other", "trouble", "that this replica defines differently", func(_ *view, j *job) (notice, bool) {
		return notice{Text: "this replica defines it differently: " + j.Own}, j.Own != ""
	}},
}

var pauses = concern{"paused", "paused", "that are paused", func(_ *view, j *job) (notice, bool) {
	if p := j.Pause; p != nil {
		return notice{Text: "paused by " + who(p), At: &p.At}, j.Alone()
	}
	return notice{Text: "paused"}, j.Paused
}}

// attention returns what a person on call needs first: the problems of this replica, the concerns about jobs, which
// nodes do not count, and who has paused what. Within one kind, jobs are sorted by name, so that nothing jumps about.
func attention(v *view) []notice {
	var all []notice
	for i, p := range v.Replica.problems {
		all = append(all, notice{Kind: "replica", Text: "this replica: " + v.Replica.Check[i], At: ops.When(p.Since)})
	}
	for _, c := range concerns {
		all = append(all, c.notices(v)...)
	}
	for i := range v.Nodes {
		if text := nodeTrouble(&v.Nodes[i]); text != "" {
			all = append(all, notice{Kind: "node", Text: "node " + v.Nodes[i].Addr + " " + text})
		}
	}
	all = append(all, pauses.notices(v)...)
	if p := v.AllPaused(); p != nil {
		all = append(all, notice{Kind: "paused", Text: "all jobs are paused by " + who(p), At: &p.At})
	}
	return all
}

// notices returns the notices of a concern about all jobs.
func (c concern) notices(v *view) (all []notice) {
	n := 0
	for i := range v.Jobs {
		one, ok := c.of(v, &v.Jobs[i])
		if !ok {
			continue
		}
		if n++; n <= maxNotices {
			one.Kind, one.Job = c.kind, v.Jobs[i].Name
			all = append(all, one)
		}
	}
	if n > maxNotices {
		all = append(all, notice{Kind: c.kind, Text: fmt.Sprintf("and %d more %s", n-maxNotices, c.left), Only: c.only})
	}
	return all
}

// failure says how often a job has failed, and why the last time. The next run may be under way.
func failure(j *job) notice {
	if !j.Fails() {
		return notice{}
	}
	n := notice{Text: "failed"}
	if *j.Failures > 1 {
		n.Text = fmt.Sprintf("failed %d times in a row", *j.Failures)
	}
	last := j.Ended
	if last == nil || !last.Failed() {
		return n
	}
	n.At = last.Start
	if last.State != scheduler.StateFailed {
		n.Text += fmt.Sprintf(", the last run is %s", last.State)
	}
	if last.Err != "" {
		n.Text += ": " + last.Err
	}
	return n
}

func nodeTrouble(n *ops.Node) string {
	switch {
	case n.Err != "":
		return "does not count: " + n.Err
	case n.Denied != "":
		return "denies the user a right: " + n.Denied
	case n.IsGuarded():
		return fmt.Sprintf("has started or lost its data, and grants nothing for another %v", n.Guard)
	}
	return ""
}

// Alone reports whether the job is paused by itself, and not only with all others.
func (j *job) Alone() bool { return j.Paused && (j.Pause == nil || j.Pause.What == "pause") }

// AllPaused returns the pause of all jobs, or nil if there is none.
func (v *view) AllPaused() *ops.Change {
	for i := range v.Jobs {
		if p := v.Jobs[i].Pause; p != nil && p.What == "pause all" {
			return p
		}
	}
	return nil
}

// who returns who asked for a change, until when it holds, and why.
func who(c *ops.Change) string {
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
