package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Finish writes a record's end to all nodes, and waits for a quorum. own: by the run itself, which stands over
// what others said of it. ErrNoQuorum.
func (r *Register) Finish(ctx context.Context, job string, record Record, own bool) error {
	by := 0
	if own {
		by = 1
	}
	call := finishScript.Call([]string{r.key("runs", job)}, record.Slot.field(), record.encode(), by)
	return r.write(ctx, fmt.Sprintf("finish %q at %v", job, record.Slot.At), call, func(f []any) error { return nil })
}

// write asks all nodes and waits for a quorum to do as they are told.
func (r *Register) write(ctx context.Context, op string, call quorum.Call, check func([]any) error) error {
	need := r.config.Quorum.Majority()
	read := func(a quorum.Answer) error {
		f, err := fields(a)
		if err == nil {
			err = check(f)
		}
		return err
	}
	round, cause := r.config.Quorum.Ask(ctx, call, func(answers []quorum.Answer) bool {
		good, open := 0, 0
		for _, a := range answers {
			if !a.Over {
				open++
			} else if read(a) == nil {
				good++
			}
		}
		return good >= need || good+open < need
	})
	good, kind := 0, ErrNoQuorum
	unknown := 0
	var nodes []NodeError
	for i, a := range round.Answers() {
		err := read(a)
		if err == nil {
			good++
			continue
		}
		if errors.Is(err, ErrUnknown) {
			unknown++
		}
		nodes = append(nodes, NodeError{r.config.Quorum.Addr(i), err})
	}
	if good >= need {
		return nil
	}
	if unknown >= need {
		kind = ErrUnknown
	}
	err := error(&QuorumError{Op: op, Need: need, Got: good, Nodes: nodes, Kind: kind})
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Pause sets, on a quorum, that no tick of the job is run, or that they are again. by is the replica. It
// returns what was set. [ErrUnknown], [ErrNoQuorum].
func (r *Register) Pause(ctx context.Context, job, by string, on bool) (Setting, error) {
	v, err := r.Read(ctx, job)
	if err != nil {
		return Setting{}, err
	}
	return r.set(ctx, job, "pause", Setting{Version: max(v.Pause.Version+1, v.Time), By: by, On: on})
}

// Trigger asks, on a quorum, for a run by hand. [ErrUnknown], [ErrNoQuorum].
func (r *Register) Trigger(ctx context.Context, job, by string) (Setting, error) {
	v, err := r.Read(ctx, job)
	if err != nil {
		return Setting{}, err
	}
	return r.set(ctx, job, "trigger", Setting{Version: max(v.Trigger.Version+1, v.Time, v.largest+1), By: by, On: true})
}

func (r *Register) set(ctx context.Context, job, what string, s Setting) (Setting, error) {
	keys := []string{r.guardKey(), r.namesKey(), r.key("job", job)}
	call := setScript.Call(keys, r.args(job, what, s.encode(), "{"+r.config.Prefix+"}:lock:"+r.Topic())...)
	return s, r.write(ctx, what+" "+job, call, func(f []any) error {
		switch f[0] {
		case int64(codeYes):
			return nil
		case int64(codeUnknown):
			return ErrUnknown
		}
		return fmt.Errorf("something newer stands: %.100v", f)
	})
}

// Topic is the name of a lock that nobody takes: its release is told whenever something was set.
func (r *Register) Topic() string { return "jobs:" + escape.Replace(r.config.Election) }
