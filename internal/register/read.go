package register

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxRecords are told of a job.
const maxRecords = 50

// View is all that is known of a job.
type View struct {
	State
	Records []Record // one a slot, the newest first, maxRecords at most
	Time    int64    // µs: what a quorum of the nodes' clocks has reached
}

// Read asks what is known of a job: a quorum, and all other nodes but those that are known to be slow, so that one clock
// that is wrong has no majority. It writes nothing. [ErrUnknown], [ErrNoQuorum].
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
	var v View
	var entries []entry
	var clocks []int64
	call := newCall(readScript, []string{r.hash(), r.key("job", job), r.key("runs", job)}, r.reading()...)
	err := r.askUntil(ctx, fmt.Sprintf("read %q", job), call, r.allSettled(), func(node int, now int64, f []any) error {
		e, _, err := readEntry(node, f)
		if err == nil {
			entries = append(entries, e)
			clocks = append(clocks, now)
		}
		return err
	})
	if err != nil {
		return View{}, err
	}
	need := r.config.Quorum.Majority()
	heed(entries, need)
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
	v.State = merge(job, entries)
	v.Time = nth(clocks, need, time.UnixMicro).UnixMicro()
	v.Mark, v.Manual = nth(marks, need, time.UnixMilli), nth(manual, need, time.UnixMicro)
	for _, record := range best {
		v.Records = append(v.Records, record)
	}
	slices.SortFunc(v.Records, func(a, b Record) int { return b.Slot.At.Compare(a.Slot.At) })
	v.Records = v.Records[:min(len(v.Records), maxRecords)] // nodes have some more, before they trim them
	return v, nil
}

// ask asks all nodes and waits for a quorum. take is given each answer, the node's time (µs) and what follows it; its
// error is why the answer does not count.
func (r *Register) ask(
	ctx context.Context, op string, call call, take func(node int, now int64, f []any) error,
) error {
	return r.askUntil(ctx, op, call, r.oneSettled(), take)
}

// oneSettled judges an answer to one question.
func (r *Register) oneSettled() func([]answer) bool {
	return r.settled(1, func(a answer, _ int) bool {
		_, err := fields(a)
		return err == nil
	})
}

// allSettled is oneSettled, of all nodes but those that are known to be slow.
func (r *Register) allSettled() func([]answer) bool {
	heard, settled := r.allHeard(), r.oneSettled()
	return func(answers []answer) bool { return heard(answers) && settled(answers) }
}

// askUntil is ask, but waits until the judge is content.
func (r *Register) askUntil(
	ctx context.Context, op string, call call, judge func([]answer) bool,
	take func(node int, now int64, f []any) error,
) error {
	round, cause := quorum.Ask(ctx, r.config.Quorum, call, judge)
	taken := 0
	var nodes []quorum.NodeError
	for i, a := range round.Answers() {
		f, err := fields(a)
		if err == nil {
			err = take(i, a.Time, f)
		}
		if err != nil {
			nodes = append(nodes, quorum.NodeError{Addr: r.config.Quorum.Addr(i), Err: err})
			continue
		}
		taken++
	}
	if taken < r.config.Quorum.Majority() {
		return r.short(op, taken, nodes, ErrNoQuorum, cause)
	}
	return nil
}
