package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// People want something of a job from any replica: a pause, its end, a trigger, or the end of runs. A majority of nodes keeps that as a
// request until the leader has stored a state in which it is applied. A newer request of the same kind takes its place.

var (
	// ErrUnknown says that the nodes do not know a job.
	ErrUnknown = errors.New("unknown to the nodes")
	// ErrRemoved says that the leader does not have the job any more.
	ErrRemoved = errors.New("it was removed, and no leader has it any more")
)

// Kinds of requests.
const (
	pauseOf   = "p"
	triggerOf = "t"
	cancelOf  = "c"
	rerunOf   = "r" // with the tick, as in r1700000000000/
)

// maxRequests bounds the requests that a node keeps.
const maxRequests = 10_000

// Pause asks for a pause of the job, and returns the request. The error is [ErrUnknown] if the nodes do not know the job, [ErrRemoved]
// if its leader removed it, and [ErrNoQuorum] if too few nodes have the request: it may still take effect.
func (s *Store) Pause(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.ask(ctx, job, pauseOf, Setting{On: true, Origin: origin})
}

// Resume asks for the end of a pause. Its results are like those of Pause.
func (s *Store) Resume(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.ask(ctx, job, pauseOf, Setting{Origin: origin})
}

// Trigger asks for a run. Its results are like those of Pause.
func (s *Store) Trigger(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.ask(ctx, job, triggerOf, Setting{On: true, Origin: origin})
}

// Cancel asks for the end of the job's runs that began before. Its results are like those of Pause.
func (s *Store) Cancel(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.ask(ctx, job, cancelOf, Setting{On: true, Origin: origin})
}

// Rerun asks for another run of a tick. Its results are like those of Pause.
func (s *Store) Rerun(ctx context.Context, job string, tick time.Time, origin Origin) (Setting, error) {
	return s.ask(ctx, job, kindOf(tick), Setting{On: true, Origin: origin})
}

func kindOf(rerun time.Time) string { return rerunOf + millis(rerun) + "/" }

// tickOf returns the tick of a kind of rerun, and what follows it. It returns false if it is not of that kind.
func tickOf(kind string) (tick time.Time, rest string, ok bool) {
	text, rest, ok := strings.Cut(strings.TrimPrefix(kind, rerunOf), "/")
	ms, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || !strings.HasPrefix(kind, rerunOf) || ms <= 0 || ms > maxNumber/1000 {
		return tick, "", false
	}
	return time.UnixMilli(ms).UTC(), rest, true
}

func (s *Store) ask(ctx context.Context, job, kind string, set Setting) (Setting, error) {
	views, now, err := s.Views(ctx, job)
	switch {
	case err != nil:
		return set, err
	case len(views) == 0:
		return set, fmt.Errorf("job %q: %w", job, ErrUnknown)
	case views[0].Err != nil:
		return set, fmt.Errorf("job %q: %w", job, views[0].Err)
	case views[0].State.Removed:
		return set, fmt.Errorf("job %q: %w", job, ErrRemoved)
	}
	v := views[0]
	last := int64(0)
	switch kind {
	case pauseOf:
		last = v.Pause.Version
	case triggerOf:
		last = max(v.Trigger.Version, v.State.Manual.UnixMicro())
	default:
		for _, r := range v.State.Reruns {
			if kindOf(r.Tick) == kind {
				last = r.Version
			}
		}
	}
	set.Tie, set.Version = random(3), max(last+1, now.UnixMicro())
	args := append(slices.Clip(s.asking), job, kind, set.encode(), s.Channel(), maxRequests)
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(askScript, s.keys(s.requestsKey(), s.pastKey(job)), args),
		func(answers []quorum.Answer[struct{}]) bool { return quorum.IsDecided(q, answers, quorum.Succeeded) })
	if short, ok := quorum.Collect(q, round.Answers(), quorum.Succeeded); !ok {
		what := map[string]string{pauseOf: "pause", triggerOf: "trigger", cancelOf: "cancel"}[kind]
		what = cmp.Or(what, "rerun")
		return set, short.Of(fmt.Sprintf("%s of %q", what, job), ErrNoQuorum, cause)
	}
	return set, nil
}

func readAsked(r *quorum.Reply) (none struct{}, err error) {
	if _, err := readHeader(r); err != nil {
		return none, err
	}
	switch code, _, _, err := r.Item(); {
	case err != nil:
		return none, err
	case code == 'n':
		return none, ErrUnknown
	case code == 'f':
		return none, fmt.Errorf("%d requests wait on it for a leader that applies them, and it keeps no more", maxRequests)
	case code != 'y':
		return none, fmt.Errorf("unexpected item %q", code)
	}
	return none, nil
}

// MaxPast is how many of the newest requests for a job the nodes keep, for people.
const MaxPast = 20

// Past is a request that was made.
type Past struct {
	Setting
	IsTrigger, IsCancel bool
	Rerun               time.Time // the tick that is to run again; zero: it is no such request
}

// Past returns the newest requests for a job, the newest first. If too few nodes answer, the error is [ErrNoQuorum].
func (s *Store) Past(ctx context.Context, job string) ([]Past, error) {
	args := append(slices.Clip(s.asking), MaxPast)
	lists, now, err := ask(ctx, s, fmt.Sprintf("changes of %q", job), newCall(pastScript, s.keys(s.pastKey(job)), args), nil)
	if err != nil {
		return nil, err
	}
	past := slices.DeleteFunc(rowsOf(lists), func(p Past) bool { return p.At().After(now.Add(Ahead)) })
	slices.SortFunc(past, func(a, b Past) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(b.Tie, a.Tie))
	})
	return past[:min(len(past), MaxPast)], nil
}

func readPast(r *quorum.Reply) ([]Past, error) { return readList(r, decodePast) }

func decodePast(text string) (Past, error) {
	if tick, setting, ok := tickOf(text); ok {
		s, err := decodeSetting(setting)
		return Past{Setting: s, Rerun: tick}, err
	}
	kind, setting := text[:min(1, len(text))], text[min(1, len(text)):]
	if kind != pauseOf && kind != triggerOf && kind != cancelOf {
		return Past{}, fmt.Errorf("the past request cannot be read: %.80q", text)
	}
	s, err := decodeSetting(setting)
	return Past{Setting: s, IsTrigger: kind == triggerOf, IsCancel: kind == cancelOf}, err
}
