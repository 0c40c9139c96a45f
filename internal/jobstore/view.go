package jobstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// View is what a majority knows of a job, for people.
type View struct {
	Job            string
	At             At // of the state
	State          State
	Pause, Trigger Setting
	Unsure         bool  // some nodes, but too few, have a newer pause or trigger
	Err            error // why the state cannot be read; nil if it was read
}

// Views returns those of the given jobs that are known and can be read, at most [MaxJobs], sorted by name. now is the time by the
// nodes' clocks. If the first answers differ, Views waits for all nodes. If too few nodes answer, the error is [ErrNoQuorum].
func (s *Store) Views(ctx context.Context, jobs ...string) (views []View, now time.Time, err error) {
	return s.viewsOf(ctx, (*page).hasSameStates, jobs)
}

// ViewsOfAll is Views, but always waits for all nodes, because one of them has something new.
func (s *Store) ViewsOfAll(ctx context.Context, jobs ...string) (views []View, err error) {
	views, _, err = s.viewsOf(ctx, never, jobs)
	return views, err
}

func never(_, _ *page) bool { return false }

func (s *Store) viewsOf(ctx context.Context, alike func(a, b *page) bool, jobs []string) (views []View, now time.Time, err error) {
	args := []any{"", 0}
	for _, job := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
		args = append(args, job)
	}
	if len(jobs) == 0 {
		return nil, time.Time{}, nil
	}
	pages, now, err := s.read(ctx, "jobs", args, alike)
	if err != nil {
		return nil, time.Time{}, err
	}
	return slices.DeleteFunc(s.views(pages, now), func(v View) bool { return v.Err != nil }), now, nil
}

// views returns the jobs of the pages, sorted by name. now is the time by the nodes' clocks.
func (s *Store) views(pages []page, now time.Time) []View {
	views := make([]View, 0, longest(pages))
	next := make([]int, len(pages)) // index of the next job of each page
	var all []jobAnswer
	var without []*page // pages of nodes that do not know the job
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
		all, without = all[:0], without[:0]
		for i := range pages {
			p := &pages[i]
			if n := next[i]; n < len(p.names) && p.names[n] == name {
				all = append(all, jobAnswer{&p.jobs[n], p})
				next[i]++
			} else if p.covers(name) {
				without = append(without, p)
			}
		}
		if v, ok := s.view(name, all, without, now); ok {
			views = append(views, v)
		}
	}
}

// jobAnswer is a node's answer about a job.
type jobAnswer struct {
	*raw
	page *page
}

func (t jobAnswer) hasSettings() bool { return t.pause.Version != 0 || t.trigger.Version != 0 }

// view decides on a job from the nodes' answers about it. without are the pages of nodes that do not know it. It returns false if
// too few nodes know the job.
func (s *Store) view(name string, all []jobAnswer, without []*page, now time.Time) (v View, ok bool) {
	known := make([]jobAnswer, 0, len(all))
	voters := 0
	for _, t := range all {
		switch t.kind {
		case None:
			without = append(without, t.page)
		case Stale: // a node that has lost its state may have an older one, so it has no vote against a newer one
			known = append(known, t)
		case Present:
			known = append(known, t)
			voters++
		}
	}
	slices.SortStableFunc(known, func(a, b jobAnswer) int { return b.at.compare(a.at) })
	for _, p := range without {
		if len(known) > 0 && p.wouldKnow(known[0].at) {
			voters++
		}
	}
	q := s.config.Quorum
	if len(known) == 0 || len(known) < q.Enough(voters) {
		return v, false
	}
	v.Job = name
	for len(known) > 0 {
		n := mostOf(known, q.Enough(voters))
		found := known[n].decode(known[n].page.now)
		if v.At, v.State, v.Err = found.At, found.State, found.Err; v.Err == nil {
			break
		}
		known = slices.Delete(known, n, n+1)
	}
	v.set(q, all, now)
	return v, true
}

// mostOf returns the index of the newest state that enough nodes have, or had before a newer one. The library writes only one state
// at each position, so a different text at the same position is somebody else's and supports no state. If no state has enough nodes,
// it returns the state that the most nodes have. known is sorted by position, the newest first.
func mostOf(known []jobAnswer, enough int) (best int) {
	most := 0
	for i, t := range known {
		n := 0
		for _, other := range known {
			if other.at.IsAfter(t.at) || other.at == t.at && other.state == t.state {
				n++
			}
		}
		if n >= enough {
			return i
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

// set fills in the pause and the trigger.
func (v *View) set(q *quorum.Quorum, all []jobAnswer, now time.Time) {
	v.Pause, v.Trigger = v.State.Pause, v.State.Trigger
	if !slices.ContainsFunc(all, jobAnswer.hasSettings) { // the usual case
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

// compare orders positions.
func (a At) compare(b At) int {
	return cmp.Or(strings.Compare(string(a.Ballot), string(b.Ballot)), cmp.Compare(a.Seq, b.Seq))
}

// wouldKnow reports whether the node would know a job if it had ever stored the state at that position: it has all jobs of its
// leader, or has lost nothing since the state was written.
func (p *page) wouldKnow(at At) bool {
	return p.header.Settled && p.header.Began.Equal(p.began) || p.began.Add(Ahead).Before(at.Ballot.Time())
}

// covers reports whether the page shows if the node knows the job.
func (p *page) covers(name string) bool { return p.last == "" || name <= p.last }

// hasSameJobs reports whether two nodes know the same jobs with the same settings, and have no different states at the same
// position, of which one would be somebody else's.
func (p *page) hasSameJobs(other *page) bool {
	return slices.Equal(p.names, other.names) && slices.EqualFunc(p.jobs, other.jobs, func(a, b raw) bool {
		return a.pause == b.pause && a.trigger == b.trigger && (a.at != b.at || a.state == b.state)
	})
}

// hasSameStates reports whether two nodes have the same states and settings of the same jobs.
func (p *page) hasSameStates(other *page) bool {
	return p.hasSameJobs(other) && slices.EqualFunc(p.jobs, other.jobs, func(a, b raw) bool {
		return a.kind == b.kind && a.at == b.at
	})
}

// headerOf returns one header for all nodes. Its ballot is the largest for which enough nodes have promised it or a larger one. Its
// Alive is the last instant by which enough nodes had heard from a leader. Settled is set if enough nodes say so of that ballot.
func (s *Store) headerOf(pages []page) (h Header) {
	var all []Header
	for i := range pages {
		if p := &pages[i]; p.header.Promised != "" && p.header.Began.Equal(p.began) {
			all = append(all, p.header)
		} else { // it has lost its state, and may have heard from a leader until then
			h.Alive = latest(h.Alive, p.began)
		}
	}
	if len(all) == 0 {
		return h
	}
	enough := s.config.Quorum.Enough(len(all))
	slices.SortFunc(all, func(a, b Header) int { return strings.Compare(string(b.Promised), string(a.Promised)) })
	h = all[enough-1]
	var alive []time.Time
	settled := 0
	for _, other := range all {
		alive = append(alive, other.Alive)
		if other.Promised == h.Promised && other.Settled {
			settled++
		}
	}
	slices.SortFunc(alive, func(a, b time.Time) int { return b.Compare(a) })
	h.Alive, h.Settled = alive[enough-1], settled >= enough
	return h
}
