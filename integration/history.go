package integration

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Event is a line of a replica's log. At, Since and Deadline are times of the machine's monotonic clock, which all
// processes share and nobody can set.
type Event struct {
	At      time.Duration
	Replica string
	Kind    Kind

	// The term that the event belongs to; all zero if none.
	Token    uint64
	Since    time.Duration // when the term started
	Deadline time.Duration // its stop deadline, which moves with each renewal

	// The run, in events of one.
	Job      string
	Tick     time.Time
	RunToken uint64
	Rerun    bool // somebody has asked for another run of the tick

	Valid bool   // Sample: the replica says that it leads
	Text  string // for people: the cause of an end, the error of an exit
}

// Kind is the kind of an event.
type Kind string

// A stopped process writes its next event when it wakes; a killed process writes no more.
const (
	LeadBegin Kind = "lead-begin" // a callback starts
	LeadDone  Kind = "lead-done"  // its context is done
	LeadEnd   Kind = "lead-end"   // the callback is about to return
	RunBegin  Kind = "run-begin"
	RunEnd    Kind = "run-end"  // the run is about to return
	Sample    Kind = "sample"   // what the replica believes, several times a second
	Deadline  Kind = "deadline" // the stop deadline has moved, or may have
	Watch     Kind = "watch"    // from now on it checks without a pause whether it leads
	Exit      Kind = "exit"     // the process is about to end on its own
)

const never = time.Duration(math.MaxInt64)

// term is one term in the history. If an event is missing, its time is the constant never.
type term struct {
	replica  string
	token    uint64
	since    time.Duration
	deadline time.Duration // the latest stop deadline
	done     time.Duration // the end of the callback's context
	ended    time.Duration // the end of the callback
	runs     int           // runs that have not returned
	ran      time.Duration // when the latest run has returned
}

// until returns when the replica stops leading. A stopped process does not notice, but its deadline passes all the same.
func (t *term) until() time.Duration { return min(t.done, t.deadline) }

// returned returns when all work of the term has returned.
func (t *term) returned() time.Duration {
	if t.runs > 0 {
		return never
	}
	return max(t.ended, t.ran)
}

// Check returns every violation in a history, each as a separate error. The order of the events does not matter.
// margin is the stop margin: a lease ends that much later than the stop deadline of its term.
func Check(events []Event, margin time.Duration) error {
	terms := termsOf(events)
	return errors.Join(slices.Concat(
		checkTerms(terms, margin), checkBeliefs(events, terms), checkRuns(events, terms))...)
}

func checkTerms(terms []*term, margin time.Duration) (problems []error) {
	for i := 1; i < len(terms); i++ {
		a, b := terms[i-1], terms[i]
		switch {
		case b.since < a.until():
			problems = append(problems, fmt.Errorf("overlap: %v began while %v led", b, a))
		case b.since < min(a.returned(), a.deadline+margin):
			problems = append(problems, fmt.Errorf("undrained: %v began while %v worked", b, a))
		}
		if b.token <= a.token {
			problems = append(problems, fmt.Errorf("falling token: %v came after %v", b, a))
		}
	}
	return problems
}

func checkBeliefs(events []Event, terms []*term) (problems []error) {
	for _, e := range events {
		if e.Kind != Sample || !e.Valid {
			continue
		}
		if t := find(terms, e); t == nil || e.At < t.since || e.At > t.until() {
			problems = append(problems, fmt.Errorf("belief: at %v %s says that it leads, but has %v",
				e.At, e.Replica, t))
		}
	}
	return problems
}

// checkRuns accepts a run that starts before the stop deadline. If its tick was claimed just before the term began to
// stop, it runs while the leader drains. checkTerms checks that it returns before the next term starts.
func checkRuns(events []Event, terms []*term) (problems []error) {
	ran := make(map[string]Event)
	for _, e := range events {
		if e.Kind != RunBegin {
			continue
		}
		t := find(terms, e)
		if t == nil || e.At < t.since || e.At > t.deadline || e.RunToken != t.token {
			problems = append(problems, fmt.Errorf("foreign run: %s at %v on %s, which has %v",
				e.run(), e.At, e.Replica, t))
		}
		if first, twice := ran[e.tick()]; twice && !e.Rerun {
			problems = append(problems, fmt.Errorf("tick ran twice: %s at %v on %s, %s at %v on %s",
				first.run(), first.At, first.Replica, e.run(), e.At, e.Replica))
		}
		ran[e.tick()] = e
	}
	return problems
}

// termsOf returns the terms in the order in which they started.
func termsOf(events []Event) []*term {
	var terms []*term
	for _, e := range events {
		if e.Since == 0 {
			continue
		}
		t := find(terms, e)
		if t == nil {
			t = &term{replica: e.Replica, token: e.Token, since: e.Since, done: never, ended: never}
			terms = append(terms, t)
		}
		t.deadline = max(t.deadline, e.Deadline)
		switch e.Kind {
		case LeadDone:
			t.done = e.At
		case LeadEnd:
			t.ended = e.At
		case RunBegin:
			t.runs++
		case RunEnd:
			t.runs--
			t.ran = max(t.ran, e.At)
		}
	}
	slices.SortFunc(terms, func(a, b *term) int { return cmp.Compare(a.since, b.since) })
	return terms
}

// find returns the term that an event belongs to, or nil if there is none. Two terms of one replica never start at
// the same time; other checks compare their tokens.
func find(terms []*term, e Event) *term {
	i := slices.IndexFunc(terms, func(t *term) bool {
		return t.replica == e.Replica && t.since == e.Since
	})
	if i < 0 {
		return nil
	}
	return terms[i]
}

// tick returns a key that is the same for all runs of one tick.
func (e Event) tick() string { return fmt.Sprintf("%s@%d", e.Job, e.Tick.UnixMilli()) }

func (e Event) run() string { return fmt.Sprintf("%s with token %d", e.tick(), e.RunToken) }

func (t *term) String() string {
	if t == nil {
		return "no term"
	}
	text := []string{fmt.Sprintf("term %d of %s from %v", t.token, t.replica, t.since)}
	for _, end := range []struct {
		name string
		at   time.Duration
	}{{"deadline", t.deadline}, {"done", t.done}, {"ended", t.ended}} {
		if end.at != never {
			text = append(text, fmt.Sprintf("%s %v", end.name, end.at))
		}
	}
	return "(" + strings.Join(text, ", ") + ")"
}
