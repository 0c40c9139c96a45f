package ops

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// LostShown is how long a job that the nodes have lost needs attention: somebody may have to pause it again.
const LostShown = 24 * time.Hour

// Job is what the nodes know of a job.
type Job struct {
	Name     string     `json:"name"`
	Spec     string     `json:"spec"`
	Zone     string     `json:"zone"`
	Next     *time.Time `json:"next,omitempty"`
	Paused   bool       `json:"paused"`
	Pause    *Change    `json:"pause,omitempty"` // who paused it, and why
	Running  bool       `json:"running"`
	Last     *Record    `json:"last,omitempty"`
	LastOK   *time.Time `json:"last_ok,omitempty"`    // its start
	GoodTook *Duration  `json:"last_ok_ms,omitempty"` // how long that run took
	Failures *int       `json:"failures,omitempty"`   // in a row; nil: the job's state cannot be read
	Missed   *int       `json:"missed,omitempty"`     // ticks that nobody ran in time; nil: the same
	Why      string     `json:"why,omitempty"`        // reason of the newest tick that did not run
	WhyTick  *time.Time `json:"why_tick,omitempty"`   // that tick; nil: Why says why the state cannot be read
	Waits    string     `json:"waits,omitempty"`      // for what, and until when, if it is known
	Own      string     `json:"own,omitempty"`        // this process's spec and zone, if they differ
	Long     string     `json:"long,omitempty"`       // why a run under way takes too long
	Lost     *time.Time `json:"lost,omitempty"`       // when the leader found that the nodes had lost its state

	LongRun *Record `json:"-"` // the run that takes too long; nil: there is none
	Ended   *Record `json:"-"` // the newest run that has ended; nil: there is none
}

// JobOf returns the job of a status. now is by the nodes' clock.
func JobOf(s *scheduler.Status, now time.Time) Job {
	j := Job{
		Name: s.Job, Spec: s.Spec, Zone: s.Zone, Next: When(s.Next), Paused: s.Paused, Running: s.Running,
		LastOK: When(s.LastOK.Start), Why: s.Reason, WhyTick: When(s.ReasonTick), Waits: s.Waiting.String(),
		Own: s.Own, Lost: When(s.DataLost),
	}
	if j.Why == "" || j.WhyTick != nil {
		j.Failures, j.Missed = &s.Failures, &s.Missed
	}
	if s.Last.ID != "" {
		last := RecordOf(&s.Last, now)
		j.Last = &last
	}
	if s.LastEnded.ID != "" {
		ended := RecordOf(&s.LastEnded, now)
		j.Ended = &ended
	}
	if !s.LastOK.End.IsZero() {
		j.GoodTook = lasted(s.LastOK.Start, s.LastOK.End)
	}
	if s.Paused && s.Pause.What != "" {
		pause := ChangeOf(s.Pause)
		j.Pause = &pause
	}
	if run, why := tooLong(s, now); why != "" {
		long := RecordOf(run, now)
		j.Long, j.LongRun = why, &long
	}
	return j
}

const (
	longLeast = time.Minute // a shorter run is too long only if the job's Timeout has passed
	longTimes = 10          // a run that takes this many times as long as the last good one is too long
)

// tooLong returns the run under way that takes too long, and why. why is "" if none does.
func tooLong(s *scheduler.Status, now time.Time) (run *scheduler.Record, why string) {
	if s.Overrun.ID != "" {
		return &s.Overrun, s.Overrun.Err
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
		return &s.Last, fmt.Sprintf("its last good run took %v", Duration(good))
	}
	return nil, ""
}

// LosesRuns marks the runs of which isGone says that their leader no longer leads: nobody knows whether they go on.
// Jobs share their records, so those that change are copied.
func (j *Job) LosesRuns(isGone func(run *Record) bool) {
	gone := func(r *Record) bool { return r != nil && r.State == scheduler.StateRunning && isGone(r) }
	if gone(j.LongRun) {
		j.Long, j.LongRun = "", nil
	}
	if gone(j.Last) {
		last := *j.Last
		last.MarkUnknown()
		j.Last, j.Running = &last, false
	}
}

// Fails reports whether the newest runs of the job failed.
func (j *Job) Fails() bool { return j.Failures != nil && *j.Failures > 0 }

// MissedSome reports whether any tick of the job was missed, or nobody knows.
func (j *Job) MissedSome() bool { return j.Missed == nil || *j.Missed > 0 }

// Misses reports whether the newest tick did not run, or the job's state cannot be read. A pause is a reason of its own.
func (j *Job) Misses() bool { return j.Why != "" && !j.Paused }

// Trouble reports whether somebody should look at the job.
func (j *Job) Trouble() bool { return j.Fails() || j.Misses() || j.Own != "" || j.Long != "" }

// Choices are the states of jobs by which operators filter. The empty one selects all.
var Choices = []string{"", "trouble", "failed", "paused", "running"}

// Matches reports whether the job is in the chosen state, and its name, spec or zone has the text.
func (j *Job) Matches(text, only string) bool {
	is := true
	switch only {
	case "trouble":
		is = j.Trouble()
	case "failed":
		is = j.Fails() || j.Last != nil && j.Last.Failed()
	case "paused":
		is = j.Paused
	case "running":
		is = j.Running
	}
	return is && strings.Contains(strings.ToLower(j.Name+"\n"+j.Spec+"\n"+j.Zone), strings.ToLower(text))
}

// ByTrouble orders jobs for people who look for what is wrong: those in trouble come first, then by name.
func ByTrouble(a, b *Job) int {
	switch {
	case a.Trouble() == b.Trouble():
		return strings.Compare(a.Name, b.Name)
	case a.Trouble():
		return -1
	default:
		return 1
	}
}
