package jobstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// View is what a majority knows of a job, to show it.
type View struct {
	Job            string
	At             At // of the state
	State          State
	Pause, Trigger Setting
	Err            error // why the state cannot be read; nil: it is there
}

// Views returns those of the jobs that are known and can be read, [MaxJobs] at most, in the order of their names. header is the
// one with the largest ballot, now is the time by the nodes' clocks. Where the nodes do not say the same, Views waits for all of
// them. [ErrNoQuorum].
func (s *Store) Views(ctx context.Context, jobs ...string) (views []View, header Header, now time.Time, err error) {
	args := []any{"", 0}
	for _, job := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
		args = append(args, job)
	}
	if len(jobs) == 0 {
		return nil, Header{}, time.Time{}, nil
	}
	pages, now, err := s.read(ctx, "jobs", args, (*page).hasSameStates)
	if err != nil {
		return nil, Header{}, time.Time{}, err
	}
	for _, p := range pages {
		header = header.merge(p.header)
	}
	views = s.views(pages, now)
	return slices.DeleteFunc(views, func(v View) bool { return v.Err != nil }), header, now, nil
}

// views returns the jobs that the pages have, in the order of their names. now is the time by the nodes' clocks.
func (s *Store) views(pages []page, now time.Time) []View {
	views := make([]View, 0, longest(pages))
	next := make([]int, len(pages)) // of each page
	var told []told
	for {
		name, more := "", false
		for i, p := range pages {
			if next[i] < len(p.names) && (!more || p.names[next[i]] < name) {
				name, more = p.names[next[i]], true
			}
		}
		if !more {
			return views
		}
		told = told[:0]
		silent := 0 // nodes that do not know the job, and would if anybody did
		for i := range pages {
			p := &pages[i]
			if n := next[i]; n < len(p.names) && p.names[n] == name {
				told = append(told, newTold(p, &p.jobs[n]))
				next[i]++
			} else if p.header.Settled {
				silent++
			}
		}
		if v, ok := s.view(name, told, silent, now); ok {
			views = append(views, v)
		}
	}
}

// told is what a node says of a job.
type told struct {
	*raw
	now time.Time // by its clock
}

func newTold(p *page, job *raw) told { return told{job, p.now} }

// view returns what holds of what nodes say of a job; false: too few of them know it. The state is the one that was written last of
// those that enough nodes have.
func (s *Store) view(name string, all []told, silent int, now time.Time) (v View, ok bool) {
	v.Job = name
	known := all[:0:0]
	var pauses, triggers []Setting
	present := silent
	for _, t := range all {
		if t.kind != None {
			known = append(known, t)
		}
		if t.kind == Present || t.pause.Version != 0 || t.trigger.Version != 0 {
			present++
		}
		if t.pause.Version != 0 {
			pauses = append(pauses, t.pause)
		}
		if t.trigger.Version != 0 {
			triggers = append(triggers, t.trigger)
		}
	}
	if len(known) == 0 || len(known) < s.config.Quorum.Enough(len(known)+silent) {
		return v, false
	}
	slices.SortStableFunc(known, func(a, b told) int { return b.at.compare(a.at) })
	for len(known) > 0 {
		n := min(s.config.Quorum.Enough(len(known)+silent), len(known)) - 1
		found := known[n].decode(known[n].now)
		if v.At, v.State, v.Err = found.At, found.State, found.Err; v.Err == nil {
			break
		}
		known = slices.Delete(known, n, n+1)
	}
	v.Trigger = voted(triggers, s.config.Quorum.Enough(present), now)
	v.Pause = newest(voted(pauses, s.config.Quorum.Enough(present), now), v.State.Pause, now)
	return v, true
}

// compare puts places in their order.
func (a At) compare(b At) int {
	return cmp.Or(strings.Compare(string(a.Ballot), string(b.Ballot)), cmp.Compare(a.Seq, b.Seq))
}

// hasSameJobs reports whether two nodes know the same jobs, for which people have set the same.
func (p *page) hasSameJobs(other *page) bool {
	return slices.Equal(p.names, other.names) && slices.EqualFunc(p.jobs, other.jobs, func(a, b raw) bool {
		return a.pause == b.pause && a.trigger == b.trigger
	})
}

// hasSameStates reports whether two nodes know the same of the jobs.
func (p *page) hasSameStates(other *page) bool {
	return p.hasSameJobs(other) && slices.EqualFunc(p.jobs, other.jobs, func(a, b raw) bool {
		return a.kind == b.kind && a.at == b.at
	})
}
