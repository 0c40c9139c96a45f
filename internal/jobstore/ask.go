package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// People want something of a job from any replica. A majority of nodes keeps that as a request, until the leader has stored a state in
// which it is applied and tells the nodes to forget it. A newer request with the same verb, for the same tick, takes its place.

var (
	// ErrUnknown says that the nodes do not know a job.
	ErrUnknown = errors.New("unknown to the nodes")
	// ErrRemoved says that the leader does not have the job any more.
	ErrRemoved = errors.New("it was removed, and no leader has it any more")
)

// maxRequests bounds the requests that a node keeps.
const maxRequests = 10_000

// Ask makes a request for a job, and returns it with its mark. may is asked first, with what the nodes know of the job, now by their
// clocks; nil allows all. The error is that of may, [ErrUnknown] if the nodes do not know the job, [ErrRemoved] if its leader removed
// it, and [ErrNoQuorum] if too few nodes have the request: it may still take effect.
func (s *Store) Ask(ctx context.Context, job string, r Request, may func(v *View, now time.Time) error) (Request, error) {
	began := time.Now()
	pages, now, err := s.read(ctx, "jobs", []any{"", 0, job}, func(_, _ *page) bool { return false }) // of all nodes: see newestOf
	if err != nil {
		return r, err
	}
	views := viewsOf(pages)
	switch {
	case len(views) == 0:
		return r, fmt.Errorf("%s: %w", Label(job), ErrUnknown)
	case views[0].Err != nil:
		return r, fmt.Errorf("%s: %w", Label(job), views[0].Err)
	case views[0].State.Removed && (r.Verb != ToCancel || len(views[0].State.Open) == 0):
		return r, fmt.Errorf("%s: %w", Label(job), ErrRemoved)
	}
	v := &views[0]
	if may != nil {
		if err := may(v, now); err != nil {
			return r, err
		}
	}
	if r.Verb == ToPause && !r.On && v.Pause.Holds(now) {
		r.Since = v.Pause.Present(now).At().Truncate(time.Millisecond)
	}
	made := now
	for _, o := range v.State.Open { // the clocks of nodes differ, and a request to end runs must be newer than them
		made = latest(made, o.Began.Add(time.Microsecond))
	}
	r.Mark = Mark{Version: s.above(max(newestOf(pages, r, now).Version, made.UnixMicro()-1), now), ID: random(3)}
	if !timeOf(r.Version).Equal(made) {
		r.Made = made
	}
	args := append(s.asking(ctx), job, r.verb(), encode(r.Setting.code), s.Channel(), maxRequests)
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(askScript, s.keys(s.requestsKey(), s.pastKey(job)), args),
		func(answers []quorum.Answer[struct{}]) bool { return quorum.IsDecided(q, answers, quorum.Succeeded) })
	if short, ok := quorum.Collect(q, round.Answers(), quorum.Succeeded); !ok {
		return r, short.Of("request for "+Label(job), ErrNoQuorum, cause)
	}
	if took := time.Since(began); took > soon/2 { // a leader may have polled since, and not count the nodes that have lost it
		return r, fmt.Errorf("request for %s: %w in time: it took %v, %v are allowed", Label(job), ErrNoQuorum, took.Round(time.Second), soon/2)
	}
	return r, nil
}

// above returns a version above that one, and above all that it has returned before: a request that has failed may still be on its way.
func (s *Store) above(version int64, now time.Time) int64 {
	for {
		last, next := s.asked.Load(), version+1
		if !(Mark{Version: last}).isFar(now) {
			next = max(next, last+1)
		}
		if s.asked.CompareAndSwap(last, next) {
			return next
		}
	}
}

// newestOf returns the newest mark of a request with a request's verb and tick that the nodes of the pages know, applied or not. Each
// earlier request for the job is on a majority, or in a state that a majority has stored. So the mark is not older than theirs, also if
// the clocks were set back since, and that state cannot be used yet. A request that too few nodes have was an error to whoever made it,
// and one of the pages has it if its node answers.
func newestOf(pages []page, r Request, now time.Time) (newest Mark) {
	keep := func(m Mark) {
		if m.IsNewer(newest) && !m.isFar(now) {
			newest = m
		}
	}
	for _, p := range pages {
		for _, job := range p.jobs {
			for _, other := range job.asked {
				if other.Verb == r.Verb && other.Tick.Equal(r.Tick) {
					keep(other.Mark)
				}
			}
			var state State
			if job.kind != None && state.decode(job.state) == nil { // otherwise it stays empty
				keep(state.applied(r))
			}
		}
	}
	return newest
}

func readAsked(r *reply) (none struct{}) {
	r.header()
	switch code, _ := r.item("ynf"); code {
	case 'n':
		r.fail(ErrUnknown)
	case 'f':
		r.fail(fmt.Errorf("%d requests wait on it for a leader that applies them, and it keeps no more", maxRequests))
	}
	return none
}

// MaxPast is how many of the newest requests for a job the nodes keep, for people.
const MaxPast = 20

// Past returns the newest requests for a job, the newest first. If too few nodes answer, the error is [ErrNoQuorum].
func (s *Store) Past(ctx context.Context, job string) ([]Request, error) {
	args := append(s.asking(ctx), MaxPast)
	lists, now, err := askAll(ctx, s, "changes of "+Label(job), newCall(pastScript, s.keys(s.pastKey(job)), args), nil)
	if err != nil {
		return nil, err
	}
	past := slices.DeleteFunc(rowsOf(lists), func(r Request) bool { return r.At().After(now.Add(Ahead)) })
	slices.SortFunc(past, func(a, b Request) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(b.ID, a.ID))
	})
	return past[:min(len(past), MaxPast)], nil
}

func readPast(r *reply) []Request { return readList(r, decodeRequest) }
