package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/internal/refusal"
)

// worker sends tasks to a node, on a connection of its own. One goroutine uses it at a time.
type worker struct {
	node *node
	*connection
	tasks   []task
	carried bool // by their caller; see carry
	unfit   bool // the server that was inspected last
	lookout lookout

	// Scratch space of a pipeline.
	names   map[string]struct{} // of its tasks
	groups  []*group
	cmds    []redis.Cmder
	buffers []*buffer // one for each command
}

// buffer is the space for a command.
type buffer struct {
	cmd    redis.Cmd
	args   []any
	script scriptText
}

// scriptText is a script's hash or source as an argument of a command. It knows whether the command was written, because
// go-redis asks for the bytes of such an argument when it writes the command. (9.23 also does so to estimate the size of
// a command in an AutoPipeliner, which is not used here.)
type scriptText struct {
	text []byte
	fate atomic.Int32 // atomic, because a hook of the client may let the command run on after it has returned
}

const (
	unwritten = iota
	written
	withdrawn
)

// MarshalBinary returns the bytes to write, unless the command was withdrawn.
func (s *scriptText) MarshalBinary() ([]byte, error) {
	if s.fate.CompareAndSwap(unwritten, written) || s.fate.Load() == written {
		return s.text, nil
	}
	return nil, ErrUnsent
}

// String is for hooks that print commands.
func (s *scriptText) String() string { return string(s.text) }

// withdraw makes sure that the command is never written. It returns false if that has already begun.
func (s *scriptText) withdraw() bool { return s.fate.CompareAndSwap(unwritten, withdrawn) }

// group is the tasks of one command, and its result.
type group struct {
	command command
	tasks   []task
	result
}

func newWorker(n *node, c *connection) *worker {
	return &worker{node: n, connection: c, names: make(map[string]struct{})}
}

// result is the outcome of one command.
type result struct {
	reply          Reply
	err            error
	sent, received time.Time
	written        bool // at least in part
	resent         bool // written twice, or perhaps so
}

// isAnswer reports whether the node has answered the command, even with an error. A refusal of the connection's setup is
// no answer: the command was not written.
func (r result) isAnswer() bool {
	_, refused := errors.AsType[redis.Error](r.err)
	return r.err == nil || r.written && (refused || errors.Is(r.err, errReply))
}

// addNature gives the error of a command without an answer its nature.
func (r *result) addNature() {
	switch {
	case r.isAnswer():
	case r.written || r.resent:
		r.err = failure{ErrPerhapsDone, r.err}
	default:
		r.err = failure{ErrUnsent, r.err}
	}
}

// run sends the tasks in one pipeline, and delivers their answers. Those that have expired are not sent.
func (w *worker) run() {
	now := time.Now()
	w.groups = w.groups[:0]
	for _, t := range w.tasks {
		if t.expired(now) {
			t.fail(errExpired)
		} else {
			w.add(t)
		}
	}
	if len(w.groups) > 0 {
		w.runPipeline(now.Add(w.node.config.Timeout))
	}
	for _, g := range w.groups {
		g.command.deliver(w.node.index, g.tasks, &g.result)
		clear(g.tasks)
	}
	clear(w.tasks)
}

// runPipeline sends the groups, and stores their results. If another server answers than was inspected, or the node is to be
// looked at, this follows before any of the answers counts. Looks take longer than the groups, so they do not delay them.
func (w *worker) runPipeline(until time.Time) {
	defer w.rejoin()
	nature, err := ErrUnsent, w.inspect(until)
	if err == nil {
		w.exchange(until, w.groups)
		nature = ErrPerhapsDone
		if w.hasAnotherAnswered() {
			w.node.inspect()
			err = w.inspect(until)
		}
	}
	if w.isLookDue() && w.node.isNear() && time.Until(until) > w.timeout/2 && w.look() {
		w.lookout.pause = 0 // thoroughly again, but not with each call
		w.node.inspect()
		err = cmp.Or(w.inspect(until), err) // on the connection that is kept: has it led to another server all the time?
		w.close()                           // the next call is sent where new connections lead to
	}
	if err == nil && w.hasAnotherAnswered() {
		err = errAnother
	}
	for _, g := range w.groups {
		if err != nil && g.err == nil {
			g.err = failure{nature, err}
		}
	}
}

// add adds a task to a group of its command, or to a new group.
func (w *worker) add(t task) {
	c, i := t.command(), len(w.groups)-1
	for i >= 0 && w.groups[i].command != c {
		i--
	}
	if i < 0 || len(w.groups[i].tasks) == c.limit() {
		i = len(w.groups)
		w.groups = slices.Grow(w.groups, 1)[:i+1]
		if w.groups[i] == nil {
			w.groups[i] = new(group)
		}
		*w.groups[i] = group{command: c, tasks: w.groups[i].tasks[:0]} // the space of an earlier pipeline
	}
	w.groups[i].tasks = append(w.groups[i].tasks, t)
}

// inspect runs the inspection if it is due. The error is why the node must not be asked anything else.
func (w *worker) inspect(until time.Time) error {
	n := w.node
	if !n.uninspected.Swap(false) {
		return nil
	}
	if w.unfit { // after a failover, new connections lead to another server
		w.renew()
	}
	inspection := n.config.Inspection
	asked := group{command: inspection.command}
	w.exchange(until, []*group{&asked})
	if failed, ok := errors.AsType[failure](asked.err); ok {
		n.inspect()
		return fmt.Errorf("the inspection before it failed: %w", failed.cause)
	}
	err := inspection.judge(n.index, asked.result)
	if w.unfit = err != nil && asked.err == nil; err != nil {
		n.inspect()
		return err
	}
	w.knows(asked.reply.Identity)
	return nil
}

// exchange sends the commands of the groups and stores their results. If the connection is broken, everything is sent
// again on a new one. Commands whose scripts the node lacks are sent once more with their scripts.
func (w *worker) exchange(until time.Time, groups []*group) {
	w.send(until, groups, false)
	if w.isBroken(groups[0].err) && !w.aborted.Load() && time.Now().Before(until) {
		defer w.limit(until)()
		w.renew()
		for _, g := range groups {
			g.resent = g.resent || g.written
		}
		w.send(until, groups, false)
	}
	var lacking []*group
	for _, g := range groups {
		if g.err != nil && refusal.Code(g.err) == refusal.NoScript {
			lacking = append(lacking, g)
		} else {
			w.settle(g)
		}
	}
	if len(lacking) > 0 {
		defer w.limit(until)()
		w.send(until, lacking, true)
	}
	for _, g := range lacking {
		w.settle(g)
	}
}

// send sends the commands in one pipeline, by the hashes of their scripts. If load is set, the first command of each
// script has its source, which loads it for the others. If one of Config.Scripts is among them, the rest are loaded too.
func (w *worker) send(until time.Time, groups []*group, load bool) {
	w.cmds = w.cmds[:0]
	var loaded []*Source
	for i, g := range groups {
		source := g.command.source()
		command, text := evalsha, source.sha
		if load && !slices.Contains(loaded, source) {
			loaded = append(loaded, source)
			command, text = eval, source.text
		}
		w.cmds = append(w.cmds, w.newCmd(i, g, command, text))
	}
	isLoaded := func(s *Source) bool { return slices.Contains(loaded, s) }
	if all := w.node.config.Scripts; slices.ContainsFunc(all, isLoaded) {
		for _, other := range all {
			if !isLoaded(other) {
				w.cmds = append(w.cmds, redis.NewCmd(context.Background(), "script", "load", other.text))
			}
		}
	}
	w.node.underway.Store(&w.buffers[0].script)
	soon := w.node.sends()
	sent := w.node.config.Now()
	err := w.process(until, w.cmds, soon)
	w.received(groups, sent, err)
}

// evalsha and eval are already interfaces, so passing them to go-redis allocates nothing.
var evalsha, eval any = "evalsha", "eval"

// newCmd makes the i-th command of a pipeline.
func (w *worker) newCmd(i int, g *group, command any, text []byte) *redis.Cmd {
	if i == len(w.buffers) {
		w.buffers = append(w.buffers, new(buffer))
	}
	b := w.buffers[i]
	b.script.text = text
	b.script.fate.Store(unwritten)
	b.args = g.command.appendTo(append(b.args[:0], command, &b.script), w.node.index, g.tasks)
	b.cmd = *redis.NewCmd(context.Background(), b.args...)
	b.cmd.SetFirstKeyPos(3) // needed by clusters
	return &b.cmd
}

// received stores the results of commands, which are the first of the pipeline.
func (w *worker) received(groups []*group, sent time.Time, err error) {
	now := w.node.config.Now()
	for i, g := range groups {
		r, cmd := &g.result, w.cmds[i].(*redis.Cmd)
		r.sent, r.received, r.written = sent, now, true
		switch failed := cmd.Err(); {
		case failed != nil:
			r.err = plain.Error(failed)
		case cmd.Val() == nil && err != nil:
			// go-redis (9.23) sets no error on a pipelined command if the server refuses the connection setup, such as
			// the password.
			r.err = plain.Error(err)
		default:
			r.reply, r.err = ParseReply(cmd.Val())
		}
		if r.err == nil {
			continue
		}
		if source := g.command.source(); refusal.Code(r.err) == refusal.NoPerm {
			r.err = fmt.Errorf("the user lacks %s: script %s: %w", refusal.Right(r.err, string(source.text)), source.name, r.err)
		}
		isOver := errors.Is(r.err, context.DeadlineExceeded)
		if r.written = !w.isKnown() || !w.buffers[i].script.withdraw(); !r.written {
			w.wire.close()
		}
		switch isLate := w.isTimed() && now.Sub(sent) > 2*w.timeout; {
		case w.aborted.Load():
			r.err = errGone
		case isLate && (isOver || errors.Is(r.err, os.ErrDeadlineExceeded) && !w.dials):
			r.err = failure{ErrHeldUp, r.err}
		case !r.written && isOver:
			r.err = fmt.Errorf("no connection in time%s: %w", w.node.hint(), r.err)
		}
		w.buffers[i] = new(buffer) // a hook may let a failed command run on: it keeps its space
	}
	w.node.underway.Store(nil)
	w.node.note(&groups[0].result)
}

// settle gives the error of a command its nature, and reports the exchange to Config.Seen.
func (w *worker) settle(g *group) {
	g.resent = g.resent || g.written && !w.isOne()
	g.addNature()
	source := g.command.source()
	refused := g.err != nil && g.isAnswer()
	if w.node.config.Seen == nil || refused && source.optional || errors.Is(g.err, errGone) {
		return
	}
	w.node.config.Seen(w.node.index, Exchange{
		Script: source.name, Header: g.reply.Header, Err: g.err, Sent: g.sent, Received: g.received,
	})
}
