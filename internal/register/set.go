package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

const maxSets = 3 // attempts with versions that other nodes turn out to be past

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
	return r.set(ctx, job, "trigger", Setting{Version: max(v.Trigger.Version+1, v.Time, micro(v.Manual)+1), By: by, On: true})
}

// pastError says that a node is past a version: something newer was set there, or runs by hand up to there are
// settled.
type pastError int64

func (e pastError) Error() string { return fmt.Sprintf("it is past it: version %d stands", int64(e)) }

func (r *Register) set(ctx context.Context, job, what string, s Setting) (Setting, error) {
	keys := []string{r.hash(), r.changesKey(), r.key("job", job)}
	op := func(int) string { return fmt.Sprintf("%s of %q", what, job) }
	for n := 1; ; n++ {
		call := newCall(setScript, keys, r.args(job, what, s.encode(), r.Channel())...)
		err := r.write(ctx, 1, op, call, func(f []any) error {
			past, _ := f[len(f)-1].(int64)
			switch {
			case f[0] == int64(codeYes), what == "trigger" && past == s.Version: // the leader has claimed it by now
				return nil
			case f[0] == int64(codeUnknown):
				return ErrUnknown
			}
			return pastError(past)
		})[0]
		if err == nil || n == maxSets || !s.pass(err) {
			return s, err
		}
	}
}

// pass raises the version above those that nodes are past, and tells whether there are any.
func (s *Setting) pass(err error) (raised bool) {
	short, ok := errors.AsType[*quorum.Shortfall](err)
	if !ok {
		return false
	}
	for _, node := range short.Nodes {
		if past, ok := errors.AsType[pastError](node.Err); ok {
			s.Version = max(s.Version, int64(past)+1)
			raised = true
		}
	}
	return raised
}

// Channel is where nodes publish that something was set.
func (r *Register) Channel() string { return r.hash() + ":jobs:" + escape.Replace(r.config.Election) }
