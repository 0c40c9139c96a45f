package quorum

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// inspect asks a stranger what it is, and in the same round trip tells it all scripts, if it was not told
// them before: one that did not answer because it has too much to do would have still more. The error is why
// it must not be asked anything else.
func (n *node) inspect(ctx context.Context) error {
	n.mu.Lock()
	known := !n.stranger || n.config.Inspected == nil
	ask := n.introduce
	if n.told {
		ask = n.ask
	}
	n.mu.Unlock()
	if known {
		return nil
	}
	cmd, sent := ask(ctx, n.config.Inspection)
	a := n.answer(n.config.Inspection.script, cmd, sent)
	if _, answered := errors.AsType[redis.Error](a.Err); a.Err != nil && !answered {
		return a.Err
	}
	err := n.config.Inspected(n.index, a)
	n.mu.Lock()
	n.stranger = err != nil
	n.mu.Unlock()
	return err
}

// introduce sends a call with the script's source, and the other scripts with it.
func (n *node) introduce(ctx context.Context, call Call) (cmd *redis.Cmd, sent time.Time) {
	pipe := n.client.Pipeline()
	cmd = newCmd(ctx, call.toStranger(n.index))
	_ = pipe.Process(ctx, cmd)
	for _, s := range n.config.Scripts {
		if s != call.script {
			pipe.ScriptLoad(ctx, s.source)
		}
	}
	sent = n.sends()
	_, err := pipe.Exec(ctx)
	keep(cmd, err) // the others are a courtesy
	if cmd.Err() == nil {
		n.mu.Lock()
		n.told = true
		n.mu.Unlock()
	}
	return cmd, sent
}

// keep gives a command the pipeline's error where it has none of its own: go-redis (9.23) leaves it
// without when the server refuses what sets up the connection, a password say.
func keep(cmd *redis.Cmd, err error) {
	if cmd.Err() == nil && cmd.Val() == nil {
		cmd.SetErr(err)
	}
}

// ask sends one call.
func (n *node) ask(ctx context.Context, call Call) (cmd *redis.Cmd, sent time.Time) {
	cmd = newCmd(ctx, call.to(n.index))
	sent = n.sends()
	_ = n.client.Process(ctx, cmd) // the command keeps its error
	return n.tellAgain(ctx, call, cmd, sent)
}

// tellAgain asks once more, with the source, where the node has forgotten the script.
func (n *node) tellAgain(ctx context.Context, call Call, cmd *redis.Cmd, sent time.Time) (*redis.Cmd, time.Time) {
	if cmd.Err() != nil && redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return n.introduce(ctx, call)
	}
	return cmd, sent
}

func (n *node) runOne(t task) {
	cmd, sent := n.ask(t.ctx, t.round.call)
	t.finish(n.answer(t.round.call.script, cmd, sent))
}

func (n *node) runPipeline(batch []task) {
	// The youngest task's context: the older ones have been waiting longer, not the batch.
	ctx := batch[len(batch)-1].ctx
	cmds := make([]*redis.Cmd, len(batch))
	pipe := n.client.Pipeline()
	for i, t := range batch {
		cmds[i] = newCmd(ctx, t.round.call.to(n.index))
		_ = pipe.Process(ctx, cmds[i])
	}
	sent := n.sends()
	_, err := pipe.Exec(ctx)
	for i, t := range batch {
		keep(cmds[i], err)
		cmd, sent := n.tellAgain(t.ctx, t.round.call, cmds[i], sent)
		t.finish(n.answer(t.round.call.script, cmd, sent))
	}
}

// sends notes that something is about to be sent, and returns when.
func (n *node) sends() time.Time {
	now := n.config.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked.IsZero() {
		n.asked = now
	}
	return now
}

// answer notes how the node answered, and shows it to whoever observes.
func (n *node) answer(s *Script, cmd *redis.Cmd, sent time.Time) Answer {
	a := Answer{
		Over: true, Sent: sent, Received: n.config.Now(), Reply: cmd.Val(), Err: cmd.Err(),
	}
	_, answered := errors.AsType[redis.Error](a.Err)
	n.note(a.Err == nil || answered, a.Received.Sub(sent))
	if n.config.Observe != nil {
		n.config.Observe(n.index, s, a)
	}
	return a
}

func (n *node) note(answered bool, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = !answered
	n.asked = time.Time{}
	if !answered {
		n.stranger = n.config.Inspected != nil
		return
	}
	if n.usual == 0 {
		n.usual = took
	}
	n.usual += (took - n.usual) / 8
}

// overdue tells that the node has not answered for longer than it usually takes.
func (n *node) overdue() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent || !n.asked.IsZero() && n.config.Now().Sub(n.asked) > n.patienceLocked()
}

// patience is how long the node may take before others are asked without it: longer than usual, but so
// that most of the time is left for the others.
func (n *node) patience() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.patienceLocked()
}

func (n *node) patienceLocked() time.Duration {
	return min(max(2*time.Millisecond, 3*n.usual), n.config.Timeout/4)
}

func newCmd(ctx context.Context, args []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3) // for nodes that are clusters
	return cmd
}
