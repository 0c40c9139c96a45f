package jobstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Write is a state of a job, to be stored as a whole.
type Write struct {
	Job   string
	State State
	Opens bool     // it opens a tick, so a newer pause refuses it
	Ended []Record // for the history, the newest last
}

// Write stores states of jobs, [MaxJobs] at most, under the ballot that was promised to their leader. seq grows from call to
// call. The error of a job is nil if a majority has stored its state. Otherwise it is [ErrFenced] if larger ballots are the
// reason, [ErrPaused] if a pause is, else [ErrNoQuorum]. A state with more than [MaxOpen] open runs is not sent. forgot are the nodes that take part again only after a Prepare.
func (s *Store) Write(ctx context.Context, b Ballot, seq int, writes []*Write) (errs []error, forgot []int) {
	for i, w := range writes {
		if err := w.State.check(); err != nil { // the others are stored without it
			if others := slices.Concat(writes[:i], writes[i+1:]); len(others) > 0 {
				errs, forgot = s.Write(ctx, b, seq, others)
			}
			return slices.Insert(errs, i, fmt.Errorf("write of %q: %w", w.Job, err)), forgot
		}
	}
	args := append(s.writing[:len(s.writing):len(s.writing)], string(b), fmt.Sprintf("%0*d", seqLen, seq))
	keys := s.keys(s.namesKey())
	for i := range writes {
		w := writes[i]
		pause := ""
		if w.State.Pause.Version != 0 {
			pause = w.State.Pause.encode()
		}
		keys = append(keys, s.runsKey(w.Job))
		args = append(args, w.Job, w.encode(pause), pause, len(w.Ended))
		for j := range w.Ended {
			args = append(args, w.Ended[j].encode())
		}
	}
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(writeScript, keys, args), func(answers []quorum.Answer[[]error]) bool {
		for i := range writes {
			done, open := 0, 0
			for _, a := range answers {
				switch {
				case !a.Over:
					open++
				case of(a, i) == nil:
					done++
				}
			}
			if !q.Decided(done, open) {
				return false
			}
		}
		return true
	})
	answers := round.Answers()
	for i, a := range answers {
		if errors.Is(a.Err, ErrForgotten) || errors.Is(a.Err, ErrYoung) {
			forgot = append(forgot, i)
		}
	}
	errs = make([]error, len(writes))
	for i := range writes {
		errs[i] = s.outcome(writes[i].Job, answers, i, cause)
	}
	return errs, forgot
}

// encode returns the entry of the job from its mark on, with the version of its pause.
func (w *Write) encode(pause string) string {
	if pause == "" {
		pause = noSetting
	}
	kind := byte('-')
	if w.Opens {
		kind = 'o'
	}
	entry := fmt.Appendf(make([]byte, 0, 512), "%0*d", markLen, max(w.State.Mark.UnixMilli(), 0))
	return string(w.State.append(append(append(entry, pause[:settingLen]...), kind)))
}

// of returns the result of the i-th write at a node.
func of(a quorum.Answer[[]error], i int) error {
	switch {
	case a.Err != nil:
		return a.Err
	case i >= len(a.Value):
		return errors.New("unexpected reply: it tells of fewer jobs")
	}
	return a.Value[i]
}

// outcome returns the error of the i-th write; nil: a majority has stored it.
func (s *Store) outcome(job string, answers []quorum.Answer[[]error], i int, cause error) error {
	q := s.config.Quorum
	stored, fenced, paused := 0, 0, 0
	var failed []quorum.NodeError
	for n, a := range answers {
		err := of(a, i)
		switch {
		case err == nil:
			stored++
			continue
		case errors.Is(err, ErrFenced):
			fenced++
		case errors.Is(err, ErrPaused):
			paused++
		}
		failed = append(failed, quorum.NodeError{Addr: q.Addr(n), Err: err})
	}
	kind, most := ErrNoQuorum, q.Size()-q.Majority()
	switch {
	case stored >= q.Majority():
		return nil
	case fenced > most:
		kind = ErrFenced
	case paused+fenced > most:
		kind = ErrPaused
	}
	return s.shortfall(fmt.Sprintf("write of %q", job), stored, failed, kind, cause)
}

// PausedError has the pause that a node has. It is an [ErrPaused].
type PausedError struct{ Pause Setting }

func (e *PausedError) Error() string {
	return fmt.Sprintf("%v, by %s at %v", ErrPaused, e.Pause.By, e.Pause.At())
}

// Unwrap returns ErrPaused.
func (*PausedError) Unwrap() error { return ErrPaused }

// readWritten reads the reply of the script write: for each job why it is not stored, or nil.
func readWritten(r *quorum.Reply) ([]error, error) {
	if _, err := refused(r); err != nil {
		return nil, err
	}
	var errs []error
	for r.More() {
		code, _, _, err := r.Item()
		if err != nil {
			return nil, err
		}
		switch code {
		case 'y':
		case 'l':
			err = ErrLate
		case 'a':
			err = fmt.Errorf("the mark is %w", ErrAhead)
		case 'p':
			text, textErr := r.Text()
			pause, pauseErr := decodeSetting(text)
			if failed := first(textErr, pauseErr); failed != nil {
				return nil, failed
			}
			err = &PausedError{pause}
		default:
			return nil, fmt.Errorf("unexpected item %q", code)
		}
		errs = append(errs, err)
	}
	return errs, nil
}
