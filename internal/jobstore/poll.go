package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxNewest bounds the changes that a node returns to the first poll.
const maxNewest = 100

// Polled is the result of a poll.
type Polled struct {
	Changed map[string]bool // jobs for which something was set
	Latest  map[int]int64   // by node: the number of the last change that it has returned; pass it to the next Poll
	Heard   []int           // nodes that serve the leader

	Unserved []*UnservedError // of nodes that take part again only under a larger ballot
	Fenced   *FencedError     // a node has promised a larger ballot; nil: none has
}

// Poll notes on the nodes that their leader is alive, and whether it has written all of its jobs under the ballot, and returns the
// jobs that were set since latest. A node that is not in
// latest returns its newest hundred. Poll waits for all nodes: otherwise a node that lost its state and is always the last to
// answer would go unnoticed. [ErrNoQuorum].
func (s *Store) Poll(ctx context.Context, b Ballot, settled bool, latest map[int]int64) (Polled, error) {
	latest = maps.Clone(latest) // a node that is late is asked when this has returned
	args := append(s.leading[:len(s.leading):len(s.leading)], string(b), cmp.Or(flag(settled), "0"))
	q := s.config.Quorum
	call := pollScript.Command(1, pollArguments{args, latest}, s.keys(s.namesKey(), s.changesKey())...).Call(nil)
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[polled]) bool {
		for _, a := range answers {
			if !a.Over {
				return false
			}
		}
		return true
	})
	all := Polled{Changed: make(map[string]bool), Latest: make(map[int]int64)}
	maps.Copy(all.Latest, latest)
	var failed []quorum.NodeError
	got := 0
	for i, a := range round.Answers() {
		if a.Err != nil {
			failed = append(failed, quorum.NodeError{Addr: q.Addr(i), Err: a.Err})
			if e, ok := errors.AsType[*UnservedError](a.Err); ok {
				all.Unserved = append(all.Unserved, e)
				delete(all.Latest, i)
			}
			if fenced, ok := errors.AsType[*FencedError](a.Err); ok && (all.Fenced == nil || fenced.Header.Promised > all.Fenced.Header.Promised) {
				all.Fenced = fenced
			}
			continue
		}
		got++
		all.Heard = append(all.Heard, i)
		all.Latest[i] = max(latest[i], a.Value.latest)
		for _, job := range a.Value.jobs {
			all.Changed[job] = true
		}
	}
	if got < q.Majority() {
		return all, s.shortfall("poll", got, failed, ErrNoQuorum, cause)
	}
	return all, nil
}

// pollArguments end with the number of the last change that the node has returned.
type pollArguments struct {
	all    []any
	latest map[int]int64
}

func (a pollArguments) AppendArgs(node int, args []any) []any {
	number, heard := a.latest[node]
	if !heard {
		number = -1
	}
	return append(append(args, a.all...), number, maxNewest)
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
	if err != nil || code != 'c' {
		return p, first(err, fmt.Errorf("unexpected item %q", code))
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
		number, err := strconv.ParseFloat(score, 64) // a whole number below 2^53
		if err != nil {
			return p, err
		}
		p.jobs, p.latest = append(p.jobs, job), max(p.latest, int64(number))
	}
	return p, nil
}
