package register

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

const (
	namesPage = 1000 // names in one call
	maxNewest = 100  // changes that a node tells of in one call
)

// Names asks a quorum what all jobs are called, in order. [ErrNoQuorum].
func (r *Register) Names(ctx context.Context) ([]string, error) {
	var all []string
	for after, more := "", true; more; {
		page, last, err := r.namesAfter(ctx, after)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		after, more = last, last != ""
	}
	return all, nil
}

// namesAfter is one page, and the name after which the next one begins; empty if there is none.
func (r *Register) namesAfter(ctx context.Context, after string) (page []string, last string, err error) {
	call := namesScript.Call([]string{r.guardKey(), r.namesKey()}, r.args(after, namesPage)...)
	answers, err := r.askAll(ctx, "names", call)
	if err != nil {
		return nil, "", err
	}
	found := make(map[string]bool)
	for _, f := range answers {
		names, _ := f[1].([]any)
		for _, n := range names {
			name, _ := n.(string)
			found[name] = true
			if len(names) == namesPage && n == names[namesPage-1] && (last == "" || name < last) {
				last = name
			}
		}
	}
	page = slices.Sorted(maps.Keys(found))
	if last != "" { // a node may have more up to where another's page ends
		page = slices.DeleteFunc(page, func(name string) bool { return name > last })
	}
	return page, last, nil
}

// Changes is what was set by hand.
type Changes struct {
	Versions map[string]int64 // by job, of its last change
	Latest   map[int]int64    // by node: the largest version there
	Memories map[int]string   // by node: what its memory is called
}

// NoChanges is what is known before anybody was asked.
func NoChanges() Changes {
	return Changes{Versions: make(map[string]int64), Latest: make(map[int]int64), Memories: make(map[int]string)}
}

// Changes asks a quorum what was set by hand since: the newest hundred, of each node that was not heard before.
// [ErrNoQuorum].
func (r *Register) Changes(ctx context.Context, since map[int]int64) (Changes, error) {
	call := changesScript.Call([]string{r.guardKey(), r.changesKey()}, r.args(maxNewest)...).WithLast(func(node int) any {
		return since[node]
	})
	answers, err := r.askAll(ctx, "changes", call)
	all := NoChanges()
	for node, f := range answers {
		all.Memories[node], _ = f[1].(string)
		for i := 2; i+1 < len(f); i += 2 {
			job, _ := f[i].(string)
			score, _ := f[i+1].(string)
			version, _ := strconv.ParseFloat(score, 64) // a whole number below 2^53
			all.Versions[job] = max(all.Versions[job], int64(version))
			all.Latest[node] = max(all.Latest[node], int64(version))
		}
	}
	return all, err
}

// askAll asks all nodes and waits for a quorum; it returns what they answered after the time, by node.
func (r *Register) askAll(ctx context.Context, op string, call quorum.Call) (map[int][]any, error) {
	read := func(a quorum.Answer) ([]any, error) {
		f, err := fields(a)
		if err == nil && (len(f) < 2 || f[0] != int64(codeYes)) {
			err = fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
		}
		return f, err
	}
	round, cause := r.config.Quorum.Ask(ctx, call, r.settled(1, func(a quorum.Answer, _ int) bool {
		_, err := read(a)
		return err == nil
	}))
	answers := make(map[int][]any)
	var nodes []NodeError
	for i, a := range round.Answers() {
		f, err := read(a)
		if err != nil {
			nodes = append(nodes, NodeError{r.config.Quorum.Addr(i), err})
			continue
		}
		answers[i] = f
	}
	if len(answers) < r.config.Quorum.Majority() {
		return nil, r.short(op, len(answers), nodes, ErrNoQuorum, cause)
	}
	return answers, nil
}
