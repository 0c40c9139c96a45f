package jobstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// People see the newest of what the nodes say that have answered, at least a majority. Nothing is decided by that. A leader decides by
// votes; see doc.go.

// View is what people see of a job.
type View struct {
	Job     string
	At      At // of the state
	State   State
	Pause   Setting // of the state, or a newer request that the leader has not applied yet
	Trigger Setting // the newest that the leader has not applied yet
	Older   bool    // the newest leader has not written the job
	Left    bool    // it has written all of its jobs, and not this one
	Loading bool    // it has written all of its jobs but those of sources that it has not loaded, and not this one
	Err     error   // why the state cannot be read; nil if it was read
}

// Views returns those of the given jobs that are known, at most [MaxJobs], sorted by name. now is the time by the nodes' clocks. It waits
// for all nodes if one that has answered has lost its state: the newest may be on another one. If too few nodes answer, the error is
// [ErrNoQuorum].
func (s *Store) Views(ctx context.Context, jobs ...string) (views []View, now time.Time, err error) {
	args := []any{"", 0}
	for _, job := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
		args = append(args, job)
	}
	if len(jobs) == 0 {
		return nil, time.Time{}, nil
	}
	pages, now, err := s.read(ctx, "jobs", args, sameKinds)
	if err != nil {
		return nil, time.Time{}, err
	}
	return viewsOf(pages), now, nil
}

func sameKinds(a, b *page) bool {
	return slices.EqualFunc(a.jobs, b.jobs, func(x, y raw) bool { return x.kind == y.kind })
}

// jobAnswer is a node's answer about a job.
type jobAnswer struct {
	*raw
	page *page
}

// viewsOf returns the jobs of the pages, sorted by name.
func viewsOf(pages []page) []View {
	most := longest(pages)
	all, views := make([]jobAnswer, 0, len(pages)*most), make([]View, 0, most)
	for i := range pages {
		p := &pages[i]
		for n := range p.jobs {
			if job := &p.jobs[n]; job.kind != None {
				all = append(all, jobAnswer{job, p})
			}
		}
	}
	slices.SortFunc(all, func(a, b jobAnswer) int {
		if a.name != b.name {
			return strings.Compare(a.name, b.name)
		}
		return b.at.compare(a.at) // the newest first
	})
	var found Found // used for all
	for header := freshest(pages); len(all) > 0; {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		views = append(views, viewOf(all[:n], header, &found))
		all = all[n:]
	}
	return views
}

// viewOf returns the newest state of a job that can be read. all are the nodes' answers, the newest first.
func viewOf(all []jobAnswer, header Header, found *Found) View {
	v := View{Job: all[0].name}
	for _, a := range all {
		a.decode(a.page.now, found)
		if v.At, v.State, v.Err = found.At, found.State, found.Err; v.Err == nil {
			break
		}
	}
	v.Pause = v.State.Pause
	for _, a := range all {
		for _, r := range a.asked {
			if newest := v.setting(r.Verb); newest != nil && r.IsNewer(newest.Mark) && !v.State.Has(r) {
				*newest = r.Setting
			}
		}
	}
	v.Older = v.At.Ballot < header.Promised
	v.Left, v.Loading = v.Older && header.Stage == Settled, v.Older && header.Stage == Loading
	return v
}

// setting returns where the view keeps the newest request with a verb, or nil if it keeps none of that verb.
func (v *View) setting(verb Verb) *Setting {
	switch verb {
	case ToPause:
		return &v.Pause
	case ToTrigger:
		return &v.Trigger
	}
	return nil
}

// freshest returns the header of the node that has promised the largest ballot, and has heard from its leader last.
func freshest(pages []page) (h Header) {
	for _, p := range pages {
		other := p.header
		if other.Began.Equal(p.began) && cmp.Or(strings.Compare(string(other.Promised), string(h.Promised)), other.Alive.Compare(h.Alive)) > 0 {
			h = other
		}
	}
	return h
}

// rowsOf returns the rows of all nodes, each once.
func rowsOf[T comparable](lists [][]T) []T {
	seen := make(map[T]bool)
	return slices.DeleteFunc(slices.Concat(lists...), func(row T) bool {
		was := seen[row]
		seen[row] = true
		return was
	})
}
