package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// End is what became of a run.
type End struct {
	Job    string
	Record Record
	Own    bool // by the run itself, which stands over what others said of it
}

// Finish writes ends to all nodes, at most [MaxClaims], and waits for a quorum; it returns why each was not
// written. ErrNoQuorum.
func (r *Register) Finish(ctx context.Context, ends []End) []error {
	keys := make([]string, 0, 2*len(ends))
	args := make([]any, 0, 3*len(ends))
	for _, e := range ends {
		own := 0
		if e.Own {
			own = 1
		}
		keys = append(keys, r.key("job", e.Job), r.key("runs", e.Job))
		args = append(args, e.Record.Slot.field(), e.Record.encode(), own)
	}
	op := func(i int) string { return fmt.Sprintf("finish %q at %v", ends[i].Job, ends[i].Record.Slot.At) }
	return r.write(ctx, len(ends), op, newCall(finishScript, keys, args...), func(f []any) error { return nil })
}

// write has a quorum do the n things that a call tells, and returns why each was not done.
func (r *Register) write(
	ctx context.Context, n int, op func(i int) string, call call, check func([]any) error,
) []error {
	read := func(a answer, i int) error {
		f, err := part(a, i, n)
		if err == nil {
			err = refusal(f)
		}
		if err == nil {
			err = check(f)
		}
		return err
	}
	need := r.config.Quorum.Majority()
	round, cause := quorum.Ask(ctx, r.config.Quorum, call, r.settled(n, func(a answer, i int) bool {
		return read(a, i) == nil
	}))
	answers := round.Answers()
	errs := make([]error, n)
	for i := range errs {
		done, unknown := 0, 0
		var nodes []quorum.NodeError
		for node, a := range answers {
			err := read(a, i)
			if err == nil {
				done++
				continue
			}
			if errors.Is(err, ErrUnknown) {
				unknown++
			}
			nodes = append(nodes, quorum.NodeError{Addr: r.config.Quorum.Addr(node), Err: err})
		}
		switch {
		case done >= need:
		case unknown >= need:
			errs[i] = r.short(op(i), done, nodes, ErrUnknown, cause)
		default:
			errs[i] = r.short(op(i), done, nodes, ErrNoQuorum, cause)
		}
	}
	return errs
}
