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

// Event is a line of a replica's log. At, Since and Deadline are times of the machine's monotonic
// clock, which all processes share and nobody can set.
type Event struct {
	At      time.Duration
	Replica string
	Kind    Kind

	// Of the term it belongs to; all zero if to none.
	Token    uint64
	Since    time.Duration // when the term began
	Deadline time.Duration // its stop deadline, which moves with each renewal

	// Of a run.
	Job      string
	Tick     time.Time
	RunToken uint64
	Attempt  int
	CaughtUp bool
	Repeats  bool // the job's later attempts may run a tick again

	Valid bool   // Sample: the replica says that it leads
	Text  string // for people: the cause of an end, the error of an exit
}

// Kind is what an event tells.
type Kind string

// A process that was stopped writes its next line when it wakes, and one that was killed none.
const (
	LeadBegin Kind = "lead-begin" // a callback starts
	LeadDone  Kind = "lead-done"  // its context is done
	LeadEnd   Kind = "lead-end"   // it is about to return
	RunBegin  Kind = "run-begin"
	RunEnd    Kind = "run-end"  // the run is about to return
	Sample    Kind = "sample"   // what the replica believes, several times a second
	Deadline  Kind = "deadline" // it has moved, or may have
	Watch     Kind = "watch"    // from now on it looks at its belief without a pause
	Exit      Kind = "exit"     // the process is about to end by itself
)

const never = time.Duration(math.MaxInt64)

// term is what the history tells of one leadership. What it does not tell of is never.
type term struct {
	replica  string
	token    uint64
	since    time.Duration
	deadline time.Duration // the latest that was seen
	done     time.Duration // of the callback's context
	ended    time.Duration // of the callback
	runs     int           // that have not returned
	ran      time.Duration // when the latest has
}

// until is when the replica stops to lead. One that is stopped does not see it, but its clock does.
func (t *term) until() time.Duration { return min(t.done, t.deadline) }

// returned is when all work of the term has.
func (t *term) returned() time.Duration {
	if t.runs > 0 {
		return never
	}
	return max(t.ended, t.ran)
}

// Check returns everything in a history that must not be, each as an error of its own. The order of
// the events does not matter. margin is the stop margin: by that much a lease outlives the stop
// deadline of its term.
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

// checkRuns lets a run begin until the stop deadline: its tick may have been claimed just before the term was asked
// to end, and then it is run while the leader drains. That it returns before the next term begins, checkTerms sees.
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
		if first, twice := ran[e.tick()]; twice && !(e.Repeats && e.Attempt != first.Attempt) {
			problems = append(problems, fmt.Errorf("tick ran twice: %s at %v on %s, %s at %v on %s",
				first.run(), first.At, first.Replica, e.run(), e.At, e.Replica))
		}
		ran[e.tick()] = e
	}
	return problems
}

// termsOf returns the terms in the order in which they began.
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

// find returns the term that an event belongs to, nil if there is none. Of one replica no two begin
// at once; the history checks their tokens.
func find(terms []*term, e Event) *term {
	i := slices.IndexFunc(terms, func(t *term) bool {
		return t.replica == e.Replica && t.since == e.Since
	})
	if i < 0 {
		return nil
	}
	return terms[i]
}

// tick is the same for all runs of one tick.
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
