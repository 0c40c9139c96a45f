package register

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

const (
	promiseBatch = 100 // jobs in one call
	abreast      = 4   // such calls at a time
)

// Promised is what became of one job.
type Promised struct {
	State
	Fenced uint64 // the larger token that was promised
	Err    error  // ErrNoQuorum, ErrFenced
}

// Promise has a quorum of nodes promise the token for every job, and returns what is known of each, in their
// order. Nodes that forgot the jobs are admitted on the way. now is the nodes' time.
func (r *Register) Promise(ctx context.Context, token uint64, now time.Time, plans []Plan) []Promised {
	all := make([]Promised, len(plans))
	slots := make(chan struct{}, abreast)
	done := 0
	var wg sync.WaitGroup
	for batch := range slices.Chunk(plans, promiseBatch) {
		out := all[done : done+len(batch)]
		done += len(batch)
		slots <- struct{}{}
		wg.Go(func() { // ends by the node timeout, a few times
			defer func() { <-slots }()
			r.promise(ctx, token, now, batch, out)
		})
	}
	wg.Wait()
	return all
}

func (r *Register) promise(ctx context.Context, token uint64, now time.Time, plans []Plan, out []Promised) {
	keys, args := []string{r.hash(), r.namesKey()}, r.args(token, micro(now))
	for _, p := range plans {
		keys = append(keys, r.key("job", p.Job))
		args = append(args, p.Job, p.Text)
	}
	call := newCall(promiseScript, keys, args...)
	jobs, cause := r.hear(ctx, call, plans)
	if memories := strangers(jobs); len(memories) > 0 && cause == nil {
		// What a node is given must have been heard after it was known to have forgotten: it may have voted
		// before that.
		jobs, cause = r.hear(ctx, call, plans)
		r.admit(ctx, token, now, jobs, memories)
	}
	for i, t := range jobs {
		out[i] = r.conclude(t, now, cause)
	}
}

// hear is what the nodes say of the jobs now.
func (r *Register) hear(ctx context.Context, call call, plans []Plan) ([]*told, error) {
	heard := r.allHeard()
	round, cause := quorum.Ask(ctx, r.config.Quorum, call,
		func(answers []answer) bool { return heard(answers) && r.answered(answers, len(plans)) })
	answers := round.Answers()
	jobs := make([]*told, len(plans))
	for i, p := range plans {
		jobs[i] = r.told(p, answers, i, len(plans))
		heed(jobs[i].entries, r.config.Quorum.Majority())
	}
	return jobs, cause
}

// strangers are the nodes that do not know some of the jobs, with what their memory is called.
func strangers(jobs []*told) map[int]string {
	memories := make(map[int]string)
	for _, t := range jobs {
		for _, e := range t.entries {
			if !e.known {
				memories[e.node] = e.memory
			}
		}
	}
	return memories
}

// allHeard tells that all nodes have answered but for those that are known to be slow now. A node that is not waited
// for stays a stranger.
func (r *Register) allHeard() func([]answer) bool {
	slow := make([]bool, r.config.Quorum.Size())
	for i := range slow {
		slow[i] = r.config.Quorum.Slow(i)
	}
	return func(answers []answer) bool {
		for i, a := range answers {
			if !a.Over && !slow[i] {
				return false
			}
		}
		return true
	}
}

// answered tells that of each of n jobs a quorum knows it, or does not.
func (r *Register) answered(answers []answer, n int) bool {
	need := r.config.Quorum.Majority()
	for i := range n {
		known, unknown := 0, 0
		for _, a := range answers {
			if f, err := part(a, i, n); err == nil && f[0] == int64(codeYes) {
				known++
			} else if err == nil && f[0] == int64(codeUnknown) {
				unknown++
			}
		}
		if known < need && unknown < need {
			return false
		}
	}
	return true
}

// told is what the nodes said of one job.
type told struct {
	plan          Plan
	entries       []entry // of those that know the job, and of those that do not
	known         int
	fenced        uint64             // the largest token that is above ours
	nodes         []quorum.NodeError // all others
	marks, manual []int64            // of those that know it by now
	admitted      map[int]string     // those of them that were admitted, with their memories
}

func (r *Register) told(plan Plan, answers []answer, i, n int) *told {
	t := &told{plan: plan, admitted: make(map[int]string)}
	seen := make(map[string]int) // the nodes, by what their memory is called
	for node, a := range answers {
		f, err := part(a, i, n)
		var e entry
		var fenced uint64
		if err == nil {
			e, fenced, err = readEntry(node, f)
		}
		if name := e.memoryName(); err == nil && name != "" {
			if other, twin := seen[name]; twin {
				err = fmt.Errorf("it is the same server as %s", r.config.Quorum.Addr(other))
			} else {
				seen[name] = node
			}
		}
		switch {
		case err != nil:
			t.nodes = append(t.nodes, quorum.NodeError{Addr: r.config.Quorum.Addr(node), Err: err})
		case fenced > 0:
			t.fenced = max(t.fenced, fenced)
		default:
			t.entries = append(t.entries, e)
		}
		if err == nil && e.known {
			t.known++
			t.marks = append(t.marks, number(e.hash["mark"]))
			t.manual = append(t.manual, number(e.hash["mmark"]))
		}
	}
	return t
}

// conclude is what a job comes to when the nodes that could be admitted have been.
func (r *Register) conclude(t *told, now time.Time, cause error) Promised {
	need := r.config.Quorum.Majority()
	if t.fenced > 0 {
		err := fmt.Errorf("promise %q: %w: %d", t.plan.Job, ErrFenced, t.fenced)
		return Promised{State: State{Job: t.plan.Job}, Fenced: t.fenced, Err: err}
	}
	if len(t.marks) < need {
		err := r.short(fmt.Sprintf("promise %q", t.plan.Job), len(t.marks), t.nodes, ErrNoQuorum, cause)
		return Promised{State: State{Job: t.plan.Job}, Err: err}
	}
	s := merge(t.plan.Job, t.entries)
	s.adopt(t.plan, t.entries, need, now)
	s.Mark = nth(t.marks, need, time.UnixMilli)
	s.Manual = nth(t.manual, need, time.UnixMicro)
	if t.known < need {
		// What waited for a leader is below the marks of the admissions: it is asked for all the same, in vain, and then
		// told.
		voted := int64(0)
		for _, e := range t.entries {
			voted = max(voted, number(e.hash["mmark"]))
		}
		s.Manual = time.UnixMicro(min(micro(s.Manual), voted)).UTC()
	}
	maps.Copy(s.Memories, t.admitted)
	return Promised{State: s}
}
