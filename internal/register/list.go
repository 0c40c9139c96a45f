package register

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

const (
	namesPage = 1000 // names in one call
	maxNewest = 100  // changes that a node tells of at first
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
	call := newCall(namesScript, []string{r.hash(), r.namesKey()}, r.reading(after, namesPage)...)
	found := make(map[string]bool)
	err = r.ask(ctx, "names", call, func(_ int, _ int64, f []any) error {
		if len(f) != 2 || f[0] != int64(codeYes) {
			return fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
		}
		names, _ := f[1].([]any)
		for _, n := range names {
			name, _ := n.(string)
			found[name] = true
			if len(names) == namesPage && n == names[namesPage-1] && (last == "" || name < last) {
				last = name
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
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
	Latest   map[int]int64    // by node: the largest version that it has told of
	Memories map[int]string   // by node: what its memory is called
}

// Changes asks what was set by hand since; the newest hundred, of each node that was not heard before. It waits for
// all nodes but those that are known to be slow: one that has forgotten, and is always the last, would never be heard.
// [ErrNoQuorum].
func (r *Register) Changes(ctx context.Context, since map[int]int64) (Changes, error) {
	since = maps.Clone(since) // a node that is late is asked when this has returned
	last := func(node int) any {
		if version, heard := since[node]; heard {
			return version
		}
		return -1
	}
	call := newCallWith(changesScript, last, []string{r.hash(), r.changesKey()}, r.reading(maxNewest)...)
	all := Changes{Versions: make(map[string]int64), Latest: make(map[int]int64), Memories: make(map[int]string)}
	err := r.askUntil(ctx, "changes", call, r.allSettled(), func(node int, _ int64, f []any) error {
		if len(f) < 2 || f[0] != int64(codeYes) {
			return fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
		}
		all.Memories[node], _ = f[1].(string)
		all.Latest[node] = since[node]
		for i := 2; i+1 < len(f); i += 2 {
			job, _ := f[i].(string)
			score, _ := f[i+1].(string)
			version, _ := strconv.ParseFloat(score, 64) // a whole number below 2^53
			all.Versions[job] = max(all.Versions[job], int64(version))
			all.Latest[node] = max(all.Latest[node], int64(version))
		}
		return nil
	})
	return all, err
}
