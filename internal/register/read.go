package register

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// View is all that is known of a job.
type View struct {
	State
	Plan    string
	Records []Record // one a slot, the newest first
	Time    int64    // µs: the largest that a node's clock showed
	largest int64    // of the marks of runs by hand
}

// Read asks a quorum what is known of a job. It writes nothing. [ErrUnknown], [ErrNoQuorum].
func (r *Register) Read(ctx context.Context, job string) (View, error) {
	v, err := r.view(ctx, job)
	switch {
	case err != nil:
		return View{}, err
	case v.Since.IsZero():
		return View{}, fmt.Errorf("%w: %q", ErrUnknown, job)
	}
	return v, nil
}

// view is Read, also of a job that only nodes remember that have forgotten since.
func (r *Register) view(ctx context.Context, job string) (View, error) {
	v, entries, err := r.ask(ctx, job)
	if err != nil {
		return View{}, err
	}
	need := r.config.Quorum.Majority()
	var marks, manual []int64
	best := make(map[Slot]Record)
	for _, e := range entries {
		marks = append(marks, number(e.hash["mark"]))
		manual = append(manual, number(e.hash["mmark"]))
		for _, record := range e.records {
			if old, ok := best[record.Slot]; !ok || better(record, old) {
				best[record.Slot] = record
			}
		}
	}
	v.State = merge(Plan{Job: job}, entries, len(entries)+1, time.Time{})
	v.Mark, v.Manual = nth(marks, need, time.UnixMilli), nth(manual, need, time.UnixMicro)
	v.largest = slices.Max(manual)
	v.Plan, v.Before = v.Before, ""
	v.Planned = latest(entries)
	for _, record := range best {
		v.Records = append(v.Records, record)
	}
	slices.SortFunc(v.Records, func(a, b Record) int { return b.Slot.At.Compare(a.Slot.At) })
	return v, nil
}

// ask is what a quorum says of a job, whether it knows it or not.
func (r *Register) ask(ctx context.Context, job string) (v View, entries []entry, err error) {
	need := r.config.Quorum.Majority()
	call := readScript.Call([]string{r.guardKey(), r.key("job", job), r.key("runs", job)}, r.args()...)
	round, cause := r.config.Quorum.Ask(ctx, call, func(answers []quorum.Answer) bool {
		good, open := 0, 0
		for _, a := range answers {
			if !a.Over {
				open++
			} else if _, err := fields(a); err == nil {
				good++
			}
		}
		return good >= need || good+open < need
	})
	var nodes []NodeError
	for i, a := range round.Answers() {
		f, err := fields(a)
		var e entry
		if err == nil {
			e, _, err = readEntry(i, f)
		}
		if err != nil {
			nodes = append(nodes, NodeError{r.config.Quorum.Addr(i), err})
			continue
		}
		entries = append(entries, e)
		v.Time = max(v.Time, a.Reply.([]any)[0].(int64))
	}
	if len(entries) >= need {
		return v, entries, nil
	}
	err = &QuorumError{
		Op: fmt.Sprintf("read %q", job), Need: need, Got: len(entries), Nodes: nodes, Kind: ErrNoQuorum,
	}
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return v, nil, err
}

func latest(entries []entry) time.Time {
	var planned int64
	for _, e := range entries {
		planned = max(planned, number(e.hash["planned"]))
	}
	return timeOf(planned)
}

// Names is what all jobs are called.
type Names struct {
	Versions map[string]int64  // by job: of what was last set of it by hand
	Memories map[string]string // by node: what its memory is called
}

// Names asks a quorum. [ErrNoQuorum].
func (r *Register) Names(ctx context.Context) (Names, error) {
	need := r.config.Quorum.Majority()
	read := func(a quorum.Answer) (names map[string]string, memory string, err error) {
		f, err := fields(a)
		if err != nil {
			return nil, "", err
		}
		if len(f) != 3 {
			return nil, "", fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
		}
		memory, _ = f[2].(string)
		return table(f[1]), memory, nil
	}
	call := namesScript.Call([]string{r.guardKey(), r.namesKey()}, r.args()...)
	round, cause := r.config.Quorum.Ask(ctx, call, func(answers []quorum.Answer) bool {
		good := 0
		for _, a := range answers {
			if _, _, err := read(a); err == nil {
				good++
			}
		}
		return good >= need
	})
	all := Names{Versions: make(map[string]int64), Memories: make(map[string]string)}
	var nodes []NodeError
	for i, a := range round.Answers() {
		names, memory, err := read(a)
		if err != nil {
			nodes = append(nodes, NodeError{r.config.Quorum.Addr(i), err})
			continue
		}
		all.Memories[r.config.Quorum.Addr(i)] = memory
		for job, version := range names {
			all.Versions[job] = max(all.Versions[job], number(version))
		}
	}
	if got := len(all.Memories); got < need {
		err := error(&QuorumError{Op: "names", Need: need, Got: got, Nodes: nodes, Kind: ErrNoQuorum})
		if cause != nil {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return Names{}, err
	}
	return all, nil
}
