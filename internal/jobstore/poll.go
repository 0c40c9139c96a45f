package jobstore

import (
	"cmp"
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
	Asked   []Asked // what a majority may have
	Unsure  bool    // some nodes, but too few, have a request that was made just now: the others may be about to get it
	Vain    []Vain  // other requests that too few nodes have; those that are of no use are passed to the next Poll
	Serving []int   // nodes that serve the leader

	Unserved []*UnservedError // of nodes that take part again only under a larger ballot
	Fenced   *FencedError     // a node has promised a larger ballot; nil: none has
}

// Asked is what people want of a job, and what its leader may have applied already.
type Asked struct {
	Job                    string
	Pause, Trigger, Cancel Setting
	Reruns                 []Rerun // sorted by tick
}

// The write that has a pause or a trigger makes the nodes forget it. Requests of the other kinds are passed to the next Poll for that,
// when the leader has stored that they are applied.

// Canceled returns the request to end runs for the next Poll.
func (a *Asked) Canceled() Vain { return Vain{a.Job, cancelOf + ":" + a.Job, a.Cancel.encode()} }

// Rerun returns a request to run a tick again for the next Poll.
func (a *Asked) Rerun(r Rerun) Vain { return Vain{a.Job, kindOf(r.Tick) + ":" + a.Job, r.encode()} }

// Vain is a request that did not reach enough nodes.
type Vain struct{ Job, field, text string }

// soon is how long it takes a request at most to reach enough nodes.
const soon = 10 * time.Second

// Poll records on the nodes that their leader is alive, and whether it has written all of its jobs under the ballot. It returns what
// people want of the jobs, and makes the nodes forget requests in vain. Poll waits for all nodes; with quick, a majority with the same
// requests is enough. Otherwise nobody would notice that a node has lost its state if it is always the last to answer. If too few nodes answer, the error is [ErrNoQuorum]. If ctx ends first,
// there is no result: a node that did not have the time to answer is not one that serves nobody.
func (s *Store) Poll(ctx context.Context, b Ballot, settled, quick bool, vain []Vain) (all Polled, err error) {
	args := append(slices.Clip(s.leading), string(b), cmp.Or(flag(settled), "0"))
	for _, v := range vain {
		args = append(args, v.field, v.text)
	}
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(pollScript, s.keys(s.namesKey(), s.requestsKey()), args), func(answers []quorum.Answer[polled]) bool {
		return quorum.AllOver(answers) || quick && quorum.IsDecided(q, answers, quorum.Succeeded) &&
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
	all.count(q, answers, b.Time())
	return all, nil
}

// count judges the requests that the nodes have. When the leader took its ballot, it had asked for earlier ones.
func (p *Polled) count(q *quorum.Quorum, answers []quorum.Answer[polled], taken time.Time) {
	now, _ := agreed(answers, 1, q.Timeout())
	asked := make(map[string]*Asked)
	seen := make(map[string]bool)
	for _, a := range answers {
		for field := range a.Value.requests {
			if seen[field] {
				continue
			}
			seen[field] = true
			kind, job, _ := strings.Cut(field, ":")
			if asked[job] == nil {
				asked[job] = &Asked{Job: job}
			}
			held := p.judge(q, answers, field, taken, now)
			switch kind {
			case pauseOf:
				asked[job].Pause = held
			case triggerOf:
				asked[job].Trigger = held
			case cancelOf:
				asked[job].Cancel = held
			default:
				if tick, _, ok := tickOf(kind); ok && held.Version != 0 {
					asked[job].Reruns = append(asked[job].Reruns, Rerun{Tick: tick, Setting: held})
				}
			}
		}
	}
	for _, a := range slices.SortedFunc(maps.Values(asked), func(a, b *Asked) int { return strings.Compare(a.Job, b.Job) }) {
		slices.SortFunc(a.Reruns, func(x, y Rerun) int { return x.Tick.Compare(y.Tick) })
		if a.Pause.Version != 0 || a.Trigger.Version != 0 || a.Cancel.Version != 0 || len(a.Reruns) > 0 {
			p.Asked = append(p.Asked, *a)
		}
	}
}

// judge returns the newest request of a field that a majority may have.
func (p *Polled) judge(q *quorum.Quorum, answers []quorum.Answer[polled], field string, taken, now time.Time) Setting {
	var v votes
	for _, a := range answers {
		if a.Err == nil {
			v.add(a.Value.requests[field], Setting{}, a.Value.began, now)
		}
	}
	held := v.holds(q, taken, now)
	for _, s := range v.all {
		switch age := now.Sub(s.At()); {
		case !s.IsNewer(held):
		case age.Abs() < soon:
			p.Unsure = true
		default:
			_, job, _ := strings.Cut(field, ":")
			p.Vain = append(p.Vain, Vain{job, field, s.encode()})
		}
	}
	return held
}

// polled is a node's answer.
type polled struct {
	began    time.Time // start of its incarnation
	requests map[string]Setting
}

// readPolled reads the reply of the script poll. It skips requests that cannot be decoded.
func readPolled(r *quorum.Reply) (p polled, err error) {
	if p.began, err = refused(r); err != nil {
		return p, err
	}
	if _, err := r.Text(); err != nil { // the header
		return p, err
	}
	code, n, _, err := r.Item()
	if err != nil || code != 'c' || n > 4*maxRequests {
		return p, first(err, fmt.Errorf("unexpected item %q of %d", code, n))
	}
	p.requests = make(map[string]Setting, n/2)
	for range n / 2 {
		field, err := r.Text()
		if err != nil {
			return p, err
		}
		text, err := r.Text()
		if err != nil {
			return p, err
		}
		if s, err := decodeSetting(text); err == nil {
			p.requests[field] = s
		}
	}
	return p, nil
}
