package register

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Plan is a job as a process has it.
type Plan struct {
	Job  string
	Text string // spec and zone; where it changes, a new timetable begins
}

// Setting is what a person has set last.
type Setting struct {
	Version int64  // µs by a node's clock, and above any version before
	By      string // the replica, which breaks ties
	On      bool
}

// At is when it was set.
func (s Setting) At() time.Time { return timeOf(s.Version) }

func (s Setting) newer(than Setting) bool {
	return s.Version > than.Version || s.Version == than.Version && s.By > than.By
}

var unescape = strings.NewReplacer("%3A", ":", "%25", "%")

func (s Setting) encode() string {
	on := 0
	if s.On {
		on = 1
	}
	return fmt.Sprintf("%d:%s:%d", s.Version, escape.Replace(s.By), on)
}

func parseSetting(text string) Setting {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Setting{}
	}
	return Setting{Version: number(parts[0]), By: unescape.Replace(parts[1]), On: parts[2] == "1"}
}

// State is what a leader starts from.
type State struct {
	Job     string
	Mark    time.Time // no tick up to this one can be won any more
	Manual  time.Time // the same for runs by hand
	Since   time.Time // first seen
	Plan    string    // spec and zone
	Planned time.Time // when the plan became what it is
	Before  string    // the plan before the promise; empty for a new job
	Pause   Setting
	Trigger Setting
	Missed  int      // ticks, in all
	Open    []Record // without an end, one a slot, the oldest first

	// Memories are what the memory of each node is called that has promised, by node.
	Memories map[int]string
}

// entry is what one node has of a job.
type entry struct {
	node    int
	known   bool          // in its present memory; else what follows is what it had before
	memory  string        // where it is not known: what the present one is called
	left    time.Duration // and how long the guard lasts
	hash    map[string]string
	records []Record // where it is not known only those without an end
}

// readEntry reads a node's answer to promise or read; fenced is the larger token that it has promised.
func readEntry(node int, f []any) (e entry, fenced uint64, err error) {
	if err := refusal(f); err != nil {
		return e, 0, err
	}
	e.node = node
	code, _ := f[0].(int64)
	switch {
	case code == codeYes && (len(f) == 2 || len(f) == 3):
		e.known, e.hash = true, table(f[1])
		records := make(map[string]string)
		if len(f) == 3 {
			records = table(f[2])
		}
		maps.Copy(records, e.open())
		for slot, text := range records {
			r, err := parseRecord(slot, text)
			if err != nil {
				return e, 0, err
			}
			e.records = append(e.records, r)
		}
		return e, 0, nil
	case code == codeUnknown && len(f) == 4:
		e.hash = table(f[1])
		e.memory, _ = f[2].(string)
		left, _ := f[3].(int64)
		e.left = time.Duration(left) * time.Millisecond
		for slot, text := range e.open() {
			if r, err := parseRecord(slot, text); err == nil { // else another version's: what is there stays
				e.records = append(e.records, r)
			}
		}
		return e, 0, nil
	case code == codeFenced && len(f) == 2:
		token, _ := f[1].(int64)
		return e, uint64(token), nil
	}
	return e, 0, fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
}

// memoryName is what the memory is called that the node has the job in; empty where nothing tells one server from another.
func (e entry) memoryName() string {
	if name := cmp.Or(e.memory, e.hash["under"]); name != "0" {
		return name
	}
	return ""
}

// open are the records without an end, by slot.
func (e entry) open() map[string]string {
	records := make(map[string]string)
	for _, prefix := range []string{"x:", "o:"} { // its own vote stands over what it was told
		for field, text := range e.hash {
			if slot, ok := strings.CutPrefix(field, prefix); ok {
				records[slot] = text
			}
		}
	}
	return records
}

// heed drops the records of nodes that forgot, unless fewer than need know the job: else these know what has become
// of them.
func heed(entries []entry, need int) {
	known := 0
	for _, e := range entries {
		if e.known {
			known++
		}
	}
	for i := range entries {
		if known >= need && !entries[i].known {
			entries[i].records = nil
		}
	}
}

// merge makes a State, but for its marks, of what the nodes have.
func merge(job string, entries []entry) State {
	s := State{Job: job, Memories: make(map[int]string)}
	var since, planned int64
	open := make(map[Slot]Record)
	for _, e := range entries {
		if e.known {
			s.Memories[e.node] = e.hash["under"]
		}
		if n := number(e.hash["since"]); n > 0 && (since == 0 || n < since) {
			since = n
		}
		if n := number(e.hash["planned"]); n > planned {
			planned, s.Plan = n, e.hash["plan"]
		}
		if p := parseSetting(e.hash["pause"]); p.newer(s.Pause) {
			s.Pause = p
		}
		if t := parseSetting(e.hash["trigger"]); t.newer(s.Trigger) {
			s.Trigger = t
		}
		s.Missed = max(s.Missed, int(number(e.hash["missed"])))
		for _, r := range e.records {
			if old, ok := open[r.Slot]; !r.Ended() && (!ok || better(r, old)) {
				open[r.Slot] = r
			}
		}
	}
	s.Since, s.Planned = timeOf(since), timeOf(planned)
	for _, r := range open {
		s.Open = append(s.Open, r)
	}
	slices.SortFunc(s.Open, func(a, b Record) int { return a.Slot.At.Compare(b.Slot.At) })
	return s
}

// adopt gives the job the plan that the process has. A job that need of the nodes do not know is new, though what
// is left of it counts.
func (s *State) adopt(plan Plan, entries []entry, need int, now time.Time) {
	unknown := 0
	for _, e := range entries {
		if !e.known {
			unknown++
		}
	}
	if unknown >= need || s.Since.IsZero() {
		s.Since = now
	}
	if s.Before = s.Plan; s.Before != plan.Text {
		s.Plan, s.Planned = plan.Text, now
	}
}

// nth is the n-th largest, as a time.
func nth(all []int64, n int, unit func(int64) time.Time) time.Time {
	all = slices.Sorted(slices.Values(all))
	return unit(all[len(all)-n]).UTC()
}

// part returns the i-th of the n answers that one node gives to a batch.
func part(a answer, i, n int) ([]any, error) {
	all, err := fields(a)
	if err != nil {
		return nil, err
	}
	if len(all) != n {
		return nil, fmt.Errorf("%d answers to %d questions", len(all), n)
	}
	f, ok := all[i].([]any)
	if !ok || len(f) == 0 {
		return nil, fmt.Errorf("unexpected answer %.100q", fmt.Sprint(all[i]))
	}
	return f, nil
}
