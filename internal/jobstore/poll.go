package jobstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Polled is the result of a poll.
type Polled struct {
	Asked   []Asked   // sorted by verb, tick and job
	Lost    time.Time // zero unless only some nodes were waited for: these may have lost requests that were made before it
	Serving []int     // nodes that serve the leader

	Unserved []*UnservedError // of nodes that take part again only under a larger ballot
	Fenced   *FencedError     // a node has promised a larger ballot; nil: none has
}

// Task is a request for a job that the leader passes to the nodes.
type Task struct {
	Job string
	Request
}

// Poll records on the nodes that their leader is alive, and how far it is under the ballot. It makes the
// nodes forget requests, and keep others that some may have lost. It returns what the nodes have then. Poll waits for all nodes; with
// quick, a majority with the same requests is enough. Otherwise nobody would notice that a node has lost its state if it is always the
// last to answer. If too few nodes answer, the error is [ErrNoQuorum]. If ctx ends first, there is no result: a node that did not have
// the time to answer is not one that serves nobody.
func (s *Store) Poll(ctx context.Context, b Ballot, stage Stage, quick bool, forget, keep []Task) (all Polled, err error) {
	args := append(s.leading(ctx), string(b), string(stage))
	for _, t := range forget {
		args = append(args, t.field(t.Job), t.ID)
	}
	for _, t := range keep {
		args = append(args, t.field(t.Job), encode(t.Setting.code))
	}
	q := s.config.Quorum
	call := newCall(pollScript, s.keys(s.namesKey(), s.requestsKey()), args)
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[polled]) bool {
		return quorum.AllOver(answers) || quick && quorum.IsDecided(q, answers, quorum.Succeeded) &&
			areWhole(s, "poll", answers, (*polled).isWhole) == nil &&
			quorum.AreAlike(answers, func(a, b *polled) bool { return maps.Equal(a.requests, b.requests) })
	})
	if cause != nil {
		return all, quorum.CutShort("poll", cause)
	}
	answers := round.Answers()
	for i, a := range answers {
		if a.Err == nil {
			all.Serving = append(all.Serving, i)
		}
		if e, ok := errors.AsType[*UnservedError](a.Err); ok {
			e.Node = i
			all.Unserved = append(all.Unserved, e)
		}
		if fenced, ok := errors.AsType[*FencedError](a.Err); ok && (all.Fenced == nil || fenced.Header.Promised > all.Fenced.Header.Promised) {
			fenced.Node = i
			all.Fenced = fenced
		}
	}
	if short, ok := quorum.Collect(q, answers, quorum.Succeeded); !ok {
		return all, short.Of("poll", ErrNoQuorum, nil)
	}
	if stage == Writing { // what it has, and was asked for in an earlier list, is not lost
		if err := areWhole(s, "poll", answers, (*polled).isWhole); err != nil {
			return all, err
		}
	}
	if !quorum.AllOver(answers) {
		for _, i := range all.Serving {
			all.Lost = latest(all.Lost, answers[i].Value.began.Add(Ahead))
		}
	}
	all.Asked = askedOf(q, answers)
	return all, nil
}

// askedOf returns what the nodes have.
func askedOf(q *quorum.Quorum, answers []quorum.Answer[polled]) (all []Asked) {
	now, _ := agreed(answers, 1, q.Timeout())
	fields := make(map[string]bool)
	for _, a := range answers {
		for field := range a.Value.requests {
			fields[field] = true
		}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		what, job, err := cutVerb(field)
		if err != nil {
			continue // of a later version
		}
		asked := Asked{Job: strings.TrimPrefix(job, ":"), what: what, now: now, quorum: q}
		for _, a := range answers {
			if a.Err == nil {
				began := a.Value.began
				if !a.Value.whole {
					began = now.Add(farthest) // it may lack any request from an earlier list, whatever the clocks said then
				}
				asked.has, asked.began = append(asked.has, a.Value.requests[field]), append(asked.began, began)
			}
		}
		all = append(all, asked)
	}
	return all
}

// polled is a node's answer.
type polled struct {
	began    time.Time // start of its incarnation
	requests map[string]Setting
	whole    bool
}

func (p *polled) isWhole() bool { return p.whole }

// readPolled reads the reply of the script poll. It skips requests that cannot be decoded.
func readPolled(r *reply) polled {
	r.text() // the header
	_, n := r.item("c")
	if n > 4*maxRequests {
		r.fail(fmt.Errorf("unexpected reply: it has %d requests", n/2))
		return polled{}
	}
	p := polled{r.began, make(map[string]Setting, n/2), r.whole}
	for ; n > 0 && r.err == nil; n -= 2 {
		var s Setting
		field := r.text()
		if err := decode(r.text(), s.code); err == nil {
			p.requests[field] = s
		}
	}
	return p
}
