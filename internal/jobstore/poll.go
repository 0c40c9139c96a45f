package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxChanges bounds the changes that a node returns to a poll.
const maxChanges = 100

// Polled is the result of a poll.
type Polled struct {
	Changed map[string]bool // jobs for which something was set
	Latest  map[int]int64   // by node: the number of the last change that it has returned; pass it to the next Poll
	Serving []int           // nodes that serve the leader
	More    bool            // a node may have returned only some of its changes

	Unserved []*UnservedError // of nodes that take part again only under a larger ballot
	Fenced   *FencedError     // a node has promised a larger ballot; nil: none has
}

// Poll records on the nodes that their leader is alive, and whether it has written all of its jobs under the ballot. It returns the
// jobs whose settings have changed after latest: the oldest hundred changes of each node, or the newest hundred of a node that is
// not in latest. Poll waits for all nodes. Otherwise nobody would notice that a node has lost its state if it is always the last to
// answer. If too few nodes answer, the error is [ErrNoQuorum]. If ctx ends first, there is no result: a node that did not have the
// time to answer is not one that serves nobody.
func (s *Store) Poll(ctx context.Context, b Ballot, settled bool, latest map[int]int64) (Polled, error) {
	latest = maps.Clone(latest) // a slow node's request may be built after Poll has returned
	args := append(slices.Clip(s.leading), string(b), cmp.Or(flag(settled), "0"))
	q := s.config.Quorum
	call := pollScript.Command(1, pollArguments{args, latest}, s.keys(s.namesKey(), s.changesKey())...).Call(nil)
	round, cause := quorum.Ask(ctx, q, call, quorum.AllOver)
	if cause != nil {
		return Polled{Changed: make(map[string]bool)}, quorum.CutShort("poll", cause)
	}
	all := Polled{Changed: make(map[string]bool), Latest: make(map[int]int64)}
	maps.Copy(all.Latest, latest)
	answers := round.Answers()
	for i, a := range answers {
		if a.Err != nil {
			if e, ok := errors.AsType[*UnservedError](a.Err); ok {
				e.Node = i
				all.Unserved = append(all.Unserved, e)
				delete(all.Latest, i)
			}
			if fenced, ok := errors.AsType[*FencedError](a.Err); ok && (all.Fenced == nil || fenced.Header.Promised > all.Fenced.Header.Promised) {
				fenced.Node = i
				all.Fenced = fenced
			}
			continue
		}
		all.Serving = append(all.Serving, i)
		if _, known := latest[i]; known && len(a.Value.jobs) == maxChanges {
			all.More = true
		}
		all.Latest[i] = max(latest[i], a.Value.latest)
		for _, job := range a.Value.jobs {
			all.Changed[job] = true
		}
	}
	if short, ok := quorum.Collect(q, answers, quorum.Succeeded); !ok {
		return all, short.Of("poll", ErrNoQuorum, nil)
	}
	return all, nil
}

// pollArguments are arguments that end with the number of the last change that the node has returned.
type pollArguments struct {
	all    []any
	latest map[int]int64
}

func (a pollArguments) AppendArgs(node int, args []any) []any {
	number, known := a.latest[node]
	if !known {
		number = -1
	}
	return append(append(args, a.all...), number, maxChanges)
}

// polled is a node's answer.
type polled struct {
	jobs   []string
	latest int64
}

func readPolled(r *quorum.Reply) (p polled, err error) {
	if _, err := readHeader(r); err != nil {
		return p, err
	}
	code, n, _, err := r.Item()
	if err != nil || code != 'c' || n > maxChanges {
		return p, first(err, fmt.Errorf("unexpected item %q of %d", code, n))
	}
	for range n {
		job, err := r.Text()
		if err != nil {
			return p, err
		}
		score, err := r.Text()
		if err != nil {
			return p, err
		}
		number, err := strconv.ParseFloat(score, 64) // Redis writes scores as floats
		if err != nil || number < 0 || number >= 1<<53 {
			return p, first(err, fmt.Errorf("unexpected reply: the number of a change is %.30q", score))
		}
		p.jobs, p.latest = append(p.jobs, job), max(p.latest, int64(number))
	}
	return p, nil
}
