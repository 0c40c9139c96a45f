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
	views, now, err := s.Views(ctx, job)
	switch {
	case err != nil:
		return r, err
	case len(views) == 0:
		return r, fmt.Errorf("job %q: %w", job, ErrUnknown)
	case views[0].Err != nil:
		return r, fmt.Errorf("job %q: %w", job, views[0].Err)
	case views[0].State.Removed && (r.Verb != ToCancel || len(views[0].State.Open) == 0):
		return r, fmt.Errorf("job %q: %w", job, ErrRemoved)
	}
	v := &views[0]
	if may != nil {
		if err := may(v, now); err != nil {
			return r, err
		}
	}
	if r.Verb == ToPause && !r.On && v.Pause.Holds(now) {
		r.Since = v.Pause.At().Truncate(time.Millisecond)
	}
	last := v.State.applied(r).Version
	if newest := v.setting(r.Verb); newest != nil {
		last = max(last, newest.Version)
	}
	for _, o := range v.State.Open { // the clocks of nodes differ, and a request to end runs must be newer than them
		last = max(last, o.Began.UnixMicro())
	}
	r.Mark = Mark{Version: max(last+1, now.UnixMicro()), ID: random(3)}
	args := append(slices.Clip(s.asking), job, r.verb(), encode(r.Setting.code), s.Channel(), maxRequests)
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(askScript, s.keys(s.requestsKey(), s.pastKey(job)), args),
		func(answers []quorum.Answer[struct{}]) bool { return quorum.IsDecided(q, answers, quorum.Succeeded) })
	if short, ok := quorum.Collect(q, round.Answers(), quorum.Succeeded); !ok {
		return r, short.Of(fmt.Sprintf("request for %q", job), ErrNoQuorum, cause)
	}
	return r, nil
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
	args := append(slices.Clip(s.asking), MaxPast)
	lists, now, err := askAll(ctx, s, fmt.Sprintf("changes of %q", job), newCall(pastScript, s.keys(s.pastKey(job)), args), nil)
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
