package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// ErrUnknown says that the nodes do not know a job.
var ErrUnknown = errors.New("unknown to the nodes")

// Kinds of settings.
const (
	pauseOf   = "p"
	triggerOf = "t"
)

// maxSets bounds the attempts to make a setting that is newer than those that the nodes have.
const maxSets = 3

// Pause stores on a majority that the job is paused, and returns the new setting. The error is [ErrUnknown] if the nodes do not know
// the job, and [ErrNoQuorum] if too few nodes have stored the setting.
func (s *Store) Pause(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.set(ctx, job, pauseOf, Setting{On: true, Origin: origin}, pauseIn)
}

// Resume stores on a majority that the job is no longer paused. Its results are like those of Pause.
func (s *Store) Resume(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.set(ctx, job, pauseOf, Setting{Origin: origin}, pauseIn)
}

func pauseIn(v View) Setting { return v.Pause }

// Trigger stores on a majority that somebody wants a run. Its results are like those of Pause.
func (s *Store) Trigger(ctx context.Context, job string, origin Origin) (Setting, error) {
	return s.set(ctx, job, triggerOf, Setting{On: true, Origin: origin}, func(v View) Setting {
		return Setting{Version: max(v.Trigger.Version, v.State.Manual.UnixMicro())}
	})
}

func (s *Store) set(ctx context.Context, job, what string, set Setting, present func(View) Setting) (Setting, error) {
	views, now, err := s.Views(ctx, job)
	if err != nil {
		return Setting{}, err
	}
	if len(views) == 0 {
		return Setting{}, fmt.Errorf("job %q: %w", job, ErrUnknown)
	}
	set.Tie, set.Version = random(3), max(present(views[0]).Version+1, now.UnixMicro())
	for n := 1; ; n++ {
		err := s.try(ctx, job, what, set)
		newer, ok := errors.AsType[*newerError](err)
		if !ok || n == maxSets || newer.present.At().After(now.Add(Ahead)) {
			return set, err
		}
		set.Version = newer.present.Version + 1
	}
}

// MaxSettings is how many of the newest settings of a job the nodes keep.
const MaxSettings = 20

// Past is a setting that was made: a pause, its end, or a trigger.
type Past struct {
	Setting
	IsTrigger bool
}

// Settings returns the newest settings of a job, the newest first. If too few nodes answer, the error is [ErrNoQuorum].
func (s *Store) Settings(ctx context.Context, job string) ([]Past, error) {
	args := append(slices.Clip(s.asking), MaxSettings)
	op := fmt.Sprintf("settings of %q", job)
	answers, now, err := ask(ctx, s, op, newCall(settingsOf, s.keys(s.pastKey(job)), args), quorum.SameRows[Past])
	if err != nil {
		return nil, err
	}
	quorum.DropRows(answers, func(p Past) bool { return p.At().After(now.Add(Ahead)) })
	// A setting that was repeated with a larger version appears twice on nodes that took the first one.
	return quorum.NewestRows(answers, s.config.Quorum.Enough(withRows(answers)), MaxSettings, func(a, b Past) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(b.Tie, a.Tie))
	}), nil
}

func readSettings(r *quorum.Reply) ([]Past, error) { return readList(r, decodePast) }

func decodePast(text string) (Past, error) {
	what, setting := text[:min(1, len(text))], text[min(1, len(text)):]
	if what != pauseOf && what != triggerOf {
		return Past{}, fmt.Errorf("the past setting cannot be read: %.80q", text)
	}
	s, err := decodeSetting(setting)
	return Past{s, what == triggerOf}, err
}

// newerError says that some node has a newer setting.
type newerError struct {
	present Setting
	error
}

func (s *Store) try(ctx context.Context, job, what string, set Setting) error {
	args := append(slices.Clip(s.asking), job, what, set.encode(), s.Channel())
	call := newCall(setScript, s.keys(s.settingsKey(), s.changesKey(), s.pastKey(job)), args)
	q := s.config.Quorum
	stored := func(_ int, a *quorum.Answer[setAnswer]) error { return cmp.Or(a.Err, a.Value.err) }
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[setAnswer]) bool {
		return quorum.IsDecided(q, answers, stored)
	})
	answers := round.Answers()
	short, ok := quorum.Collect(q, answers, stored)
	if ok {
		return nil
	}
	newer := Setting{}
	for _, a := range answers {
		if a.Err == nil && a.Value.present.IsNewer(newer) {
			newer = a.Value.present
		}
	}
	err := short.Of(fmt.Sprintf("%s of %q", map[string]string{pauseOf: "pause", triggerOf: "trigger"}[what], job),
		ErrNoQuorum, cause)
	if newer.Version > 0 {
		return &newerError{newer, err}
	}
	return err
}

// Unwrap returns the error of the call.
func (e *newerError) Unwrap() error { return e.error }

// setAnswer is a node's answer to a setting.
type setAnswer struct {
	err     error   // why the setting is not stored
	present Setting // the newer one that the node has
}

func readSet(r *quorum.Reply) (a setAnswer, err error) {
	if _, err := readHeader(r); err != nil {
		return a, err
	}
	code, _, _, err := r.Item()
	if err != nil {
		return a, err
	}
	switch code {
	case 'y':
	case 'n':
		a.err = ErrUnknown
	case 'o':
		text, err := r.Text()
		if err != nil {
			return a, err
		}
		if a.present, err = decodeSetting(text); err != nil {
			return a, err
		}
		a.err = fmt.Errorf("it has a newer setting, by %s at %v", a.present.Who(), a.present.At())
	default:
		return a, fmt.Errorf("unexpected item %q", code)
	}
	return a, nil
}
