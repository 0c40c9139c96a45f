package jobmachine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// walk is one random walk.
type walk struct {
	seed     uint64
	rng      *rand.Rand
	counts   map[string]int // by kind of event
	logs     bool           // keep log lines; off at first, since hardly any walk fails
	log      []string
	failure  string
	events   int
	now      time.Time
	job      *jobmachine.Job
	plans    map[string]jobmachine.Schedule
	interval time.Duration
	bad      time.Time // until then most writes fail

	nodes     nodes
	starts    map[jobstore.Slot][]attempt // of all leaders
	unstarted map[string]string           // the leader that opened each run that was not started
	zombies   []zombie
	lost      bool // a majority has lost its state once
	lostAll   bool // and no node had any
	ids, seq  int
	processes int
	token     uint64

	m      jobmachine.Machine
	first  *jobmachine.Job // the machine's first job
	sent   []jobmachine.Event
	leader leader
}

// nodes has the nodes' data.
type nodes struct {
	known   bool
	base    jobstore.Written   // stored by a majority
	kept    []jobstore.Written // stored by some nodes after base, the oldest first
	earlier []jobstore.Written // stored by majorities before base
	pause   jobstore.Setting   // the newest request
	trigger jobstore.Setting
	cancel  jobstore.Setting
	floor   time.Time // no tick up to here may be opened; zero: a majority has a state
}

// leader has what the present leader has done.
type leader struct {
	id        string
	process   string
	token     uint64
	draining  bool
	removed   bool
	ends      time.Time        // the end of its term, if it drains
	prepared  time.Time        // for the first time
	isNew     bool             // no node knew the job
	floor     time.Time        // the floor of the basis, until a write is stored
	pause     jobstore.Setting // the newest request that it has learned of
	trigger   jobstore.Setting
	cancel    jobstore.Setting
	learns    time.Time             // when it learns of requests; zero: it has
	runs      []*activeRun          // under way
	returned  []jobmachine.Returned // runs whose ends are not stored
	spans     []period              // when runs were under way, including those of earlier leaders
	writing   *writeUnderWay
	notBefore time.Time
	behind    bool
	prepares  time.Time // when the nodes answer the prepare; zero: they have
	mixed     time.Time // until then ticks may have come under another overlap policy
	asked     time.Time // when it asked for runs of earlier leaders; zero: it has not, or none is under way
	answers   time.Time // when it learns of them
	held      bool      // it then learns that one was under way
	lazy      time.Time // when it sends a Due that is not urgent; zero: never
}

// writeUnderWay is a write that the nodes have not answered.
type writeUnderWay struct {
	at      jobstore.At
	write   *jobstore.Write
	was     jobstore.State
	job     *jobmachine.Job // the job when the write was made
	answer  time.Time
	settles []jobmachine.Returned
	fresh   []jobstore.Open // runs that it opens, or makes go on
	retries map[string]int  // by ID, the attempts of those that go on
}

func (p *writeUnderWay) written() jobstore.Written {
	return jobstore.Written{At: p.at, State: *p.write.State}
}

// broken ends a walk that has found a fault.
type broken struct{}

func (w *walk) fail(format string, args ...any) {
	w.failure = fmt.Sprintf(format, args...)
	panic(broken{})
}

func (w *walk) String() string {
	lines := w.log[max(0, len(w.log)-*walkLog):]
	return fmt.Sprintf("%s\nplay it again with -jobmachine.seed=%d\n%s\nnow %s\njob %+v\nstate %s", w.failure, w.seed,
		strings.Join(lines, "\n"), at(w.now), *w.job, text(w.m.State()))
}

func (w *walk) logf(format string, args ...any) {
	if w.logs {
		w.log = append(w.log, at(w.now)+" "+fmt.Sprintf(format, args...))
	}
}

func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("15:04:05.000000")
}

func (w *walk) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *walk) upTo(d time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(d) + 1)).Truncate(time.Microsecond)
}

func (w *walk) newID() string {
	w.ids++
	return fmt.Sprintf("%s%d", w.leader.id, w.ids)
}

func (w *walk) newProcess() string {
	w.processes++
	return fmt.Sprintf("p%d", w.processes)
}

// send passes an event to the machine.
func (w *walk) send(e jobmachine.Event) jobmachine.Effects {
	w.events++
	if w.logs {
		w.logf("%s", describe(e))
	}
	pure := w.rng.IntN(60) == 0
	if pure { // the effects of other events must leave no trace
		jobmachine.Next(w.m, e)
		jobmachine.Next(w.m, jobmachine.Due{Now: w.now, ID: "other"})
		jobmachine.Next(w.m, jobmachine.Failed{Now: w.now, Retry: w.now})
		jobmachine.Next(w.m, jobmachine.Stored{Now: w.now})
	}
	w.sent = append(w.sent, e)
	m, effects := jobmachine.Next(w.m, e)
	if pure && !reflect.DeepEqual(w.replay(len(w.sent)-1), w.m) {
		w.fail("Next has changed the machine that it was given")
	}
	w.m = m
	if pure && !reflect.DeepEqual(w.replay(len(w.sent)), w.m) {
		w.fail("the same events do not lead to the same machine")
	}
	return effects
}

// sendsOnly passes an event to a machine that must answer it with nothing.
func (w *walk) sendsOnly(e jobmachine.Event) { w.wantNone(e, w.send(e)) }

func (w *walk) wantNone(e jobmachine.Event, effects jobmachine.Effects) {
	if effects.Write != nil || effects.Replace != nil || effects.Start != nil || effects.Report != nil {
		w.fail("%s has effects: %+v", describe(e), effects)
	}
}

func describe(e jobmachine.Event) string {
	switch e := e.(type) {
	case jobmachine.Prepared:
		return fmt.Sprintf("prepared floor=%s known=%v %s", at(e.Basis.Floor), e.Basis.Known, text(e.Basis.State))
	case jobmachine.Added:
		return fmt.Sprintf("added %+v", *e.Job)
	case jobmachine.Due:
		return "due " + e.ID
	case jobmachine.Asked:
		return fmt.Sprintf("asked %s on=%v %s", e.Request.Verb, e.Request.On, at(e.Request.At()))
	case jobmachine.Failed:
		return "failed, retry at " + at(e.Retry)
	}
	return fmt.Sprintf("%T %+v", e, e)
}

// text returns a state for people.
func text(s jobstore.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{mark=%s manual=%d plan=%s pause=%v %s missed=%d notrun=%s %q failures=%d removed=%v", at(s.Mark), s.Manual.Version,
		s.Plan, s.Pause.On, at(s.Pause.At()), s.Missed, at(s.NotRun.Tick), s.NotRun.Reason, s.Failures, s.Removed)
	for _, o := range s.Open {
		fmt.Fprintf(&b, " open=%s for %s manual=%v attempt %d+%d since %s returned=%v", o.ID, at(o.Slot.At), o.Slot.Manual, o.Attempt,
			o.Tries, at(o.Start), o.Returned)
	}
	if s.Last != nil {
		fmt.Fprintf(&b, " last=%s %s %s-%s", s.Last.ID, s.Last.State, at(s.Last.Start), at(s.Last.End))
	}
	return b.String() + "}"
}

func (w *walk) replay(n int) jobmachine.Machine {
	m := jobmachine.New(w.first, w.leader.id)
	for _, e := range w.sent[:n] {
		m, _ = jobmachine.Next(m, e)
	}
	return m
}
