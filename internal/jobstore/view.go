package jobstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// View is what a majority knows of a job, to show it.
type View struct {
	Job            string
	At             At // of the state
	State          State
	Pause, Trigger Setting
	Unsure         bool  // a node has a newer pause or trigger, and too few others
	Err            error // why the state cannot be read; nil: it is there
}

// Views returns those of the jobs that are known and can be read, [MaxJobs] at most, in the order of their names. header is the
// one with the largest ballot, now is the time by the nodes' clocks. Where the nodes do not say the same, Views waits for all of
// them. [ErrNoQuorum].
func (s *Store) Views(ctx context.Context, jobs ...string) (views []View, header Header, now time.Time, err error) {
	return s.viewsOf(ctx, (*page).hasSameStates, jobs)
}

// ViewsOfAll is Views that waits for all nodes: one of them has something new.
func (s *Store) ViewsOfAll(ctx context.Context, jobs ...string) (views []View, err error) {
	views, _, _, err = s.viewsOf(ctx, func(_, _ *page) bool { return false }, jobs)
	return views, err
}

func (s *Store) viewsOf(ctx context.Context, alike func(a, b *page) bool, jobs []string) (views []View, header Header, now time.Time, err error) {
	args := []any{"", 0}
	for _, job := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
		args = append(args, job)
	}
	if len(jobs) == 0 {
		return nil, Header{}, time.Time{}, nil
	}
	pages, now, err := s.read(ctx, "jobs", args, alike)
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
	var all []jobAnswer
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
		all = all[:0]
		silent := 0 // nodes that do not know the job, and would if anybody did
		for i := range pages {
			p := &pages[i]
			if n := next[i]; n < len(p.names) && p.names[n] == name {
				all = append(all, jobAnswer{&p.jobs[n], p})
				next[i]++
			} else if p.knowsAll() {
				silent++
			}
		}
		if v, ok := s.view(name, all, silent, now); ok {
			views = append(views, v)
		}
	}
}

// jobAnswer is what a node says of a job.
type jobAnswer struct {
	*raw
	page *page
}

func (t jobAnswer) hasSettings() bool { return t.pause.Version != 0 || t.trigger.Version != 0 }

// view returns what holds of what nodes say of a job; false: too few of them know it. The state is the one that was written last of
// those that enough nodes have. A node that has lost its state may have an older one: it does not speak against a newer one.
func (s *Store) view(name string, all []jobAnswer, silent int, now time.Time) (v View, ok bool) {
	known := make([]jobAnswer, 0, len(all))
	heard := silent
	for _, t := range all {
		if t.kind != None {
			known = append(known, t)
		}
		if t.kind == Present {
			heard++
		}
	}
	q := s.config.Quorum
	if len(known) == 0 || len(known) < q.Enough(heard) {
		return v, false
	}
	v.Job = name
	slices.SortStableFunc(known, func(a, b jobAnswer) int { return b.at.compare(a.at) })
	for len(known) > 0 {
		n := min(q.Enough(heard), len(known)) - 1
		found := known[n].decode(known[n].page.now)
		if v.At, v.State, v.Err = found.At, found.State, found.Err; v.Err == nil {
			break
		}
		known = slices.Delete(known, n, n+1)
	}
	v.set(q, all, now)
	return v, true
}

// set fills in what people have set.
func (v *View) set(q *quorum.Quorum, all []jobAnswer, now time.Time) {
	v.Pause, v.Trigger = v.State.Pause, v.State.Trigger
	if !slices.ContainsFunc(all, jobAnswer.hasSettings) { // most often
		return
	}
	var pauses, triggers votes
	for _, t := range all {
		pauses.add(t.pause, t.page.began)
		triggers.add(t.trigger, t.page.began)
	}
	judged := v.At.Ballot.Time()
	v.Pause = newest(pauses.holds(q, judged, now), v.Pause, now)
	v.Trigger = newest(triggers.holds(q, judged, now), v.Trigger, now)
	v.Unsure = pauses.newest(now).IsNewer(v.Pause) || triggers.newest(now).IsNewer(v.Trigger)
}

// compare puts places in their order.
func (a At) compare(b At) int {
	return cmp.Or(strings.Compare(string(a.Ballot), string(b.Ballot)), cmp.Compare(a.Seq, b.Seq))
}

// knowsAll reports that the node knows all jobs of its leader, and has lost nothing since.
func (p *page) knowsAll() bool { return p.header.Settled && p.header.Began.Equal(p.began) }

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
