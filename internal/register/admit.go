package register

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxGiven is how many records a node is given of a job.
const maxGiven = 50

// admit has nodes that do not know a job know it: those that were known, by their memories, before the others were
// heard. A quorum of others that know it tells what they need; when their guard is over, or when a quorum does not
// know the job, what is left of it has to do.
func (r *Register) admit(ctx context.Context, token uint64, now time.Time, jobs []*told, memories map[int]string) {
	need := r.config.Quorum.Majority()
	type stranger struct {
		node   int
		memory string
	}
	work := make(map[stranger][]*told)
	for _, t := range jobs {
		if t.fenced > 0 {
			continue
		}
		for _, e := range t.entries {
			if !e.known && e.memory == memories[e.node] && (t.known >= need || len(t.entries)-t.known >= need || e.left == 0) {
				s := stranger{e.node, e.memory}
				work[s] = append(work[s], t)
			}
		}
	}
	var mu sync.Mutex // guards the jobs meanwhile
	var wg sync.WaitGroup
	for s, all := range work {
		wg.Go(func() { // ends by the node timeout, once or twice for each batch
			for batch := range slices.Chunk(all, promiseBatch) {
				marks, err := r.admitAt(ctx, s.node, s.memory, token, now, batch)
				mu.Lock()
				for i, t := range batch {
					if err != nil {
						t.nodes = append(t.nodes, quorum.NodeError{Addr: r.config.Quorum.Addr(s.node), Err: err})
						continue
					}
					t.marks = append(t.marks, marks[i].tick)
					t.manual = append(t.manual, marks[i].manual)
					t.admitted[s.node] = s.memory
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// marks are what a node is past, of a job.
type marks struct{ tick, manual int64 }

// admitAt admits one node, and returns the marks that it begins with.
func (r *Register) admitAt(
	ctx context.Context, node int, memory string, token uint64, now time.Time, jobs []*told,
) ([]marks, error) {
	keys, args := []string{r.hash(), r.namesKey()}, r.args(memory, token)
	given, errs := make([][]any, len(jobs)), make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, t := range jobs { // of one after the other all ticks would wait for as many round trips
		keys = append(keys, r.key("job", t.plan.Job), r.key("runs", t.plan.Job))
		wg.Go(func() { given[i], errs[i] = r.given(ctx, t, now) }) // ends by the node timeout
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, g := range given {
		args = append(args, g...)
	}
	a, cause := quorum.AskNode(ctx, r.config.Quorum, node, newCall(admitScript, keys, args...))
	if cause != nil {
		return nil, cause
	}
	f, err := fields(a)
	switch {
	case err != nil:
		return nil, err
	case f[0] != int64(codeYes) || len(f) != 2*len(jobs)+1:
		return nil, fmt.Errorf("not admitted: it remembers otherwise by now: %.100q", fmt.Sprint(f))
	}
	all := make([]marks, len(jobs))
	for i := range all {
		all[i].tick, _ = f[2*i+1].(int64)
		all[i].manual, _ = f[2*i+2].(int64)
		if all[i].tick <= 0 {
			return nil, fmt.Errorf("not admitted: what is there of %q was written by another version", jobs[i].plan.Job)
		}
	}
	return all, nil
}

// given are the arguments that admit a job: the largest and newest of what anybody has, what has an end of its
// history, and what has none.
func (r *Register) given(ctx context.Context, t *told, now time.Time) ([]any, error) {
	s := merge(t.plan.Job, t.entries)
	s.adopt(t.plan, t.entries, r.config.Quorum.Majority(), now)
	var mark, manual int64
	for _, e := range t.entries {
		mark = max(mark, number(e.hash["mark"]))
		manual = max(manual, number(e.hash["mmark"]))
	}
	records := []string{}
	if s.Before != "" { // somebody has known it
		view, err := r.view(ctx, t.plan.Job)
		if err != nil {
			return nil, err
		}
		for _, record := range view.Records {
			if record.Ended() && len(records) < 2*maxGiven {
				records = append(records, record.Slot.field(), record.encode())
			}
		}
		for _, record := range s.Open { // a run may be under way: who leads next has to hear of it
			records = append(records, record.Slot.field(), record.encode())
		}
	}
	list, _ := json.Marshal(records) // strings: it cannot fail
	return []any{
		t.plan.Job, micro(s.Since), t.plan.Text, micro(s.Planned), mark, manual,
		s.Pause.encode(), s.Trigger.encode(), s.Missed, string(list),
	}, nil
}
