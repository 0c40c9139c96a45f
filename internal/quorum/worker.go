package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/internal/refusal"
)

// worker sends tasks to a node on its own connection. It belongs to one goroutine.
type worker struct {
	node *node
	connection
	tasks         []task
	scriptsLoaded bool        // the node has been sent all scripts
	warm          *time.Timer // see rest

	// Scratch space of a pipeline.
	names   map[string]struct{} // of its tasks
	groups  []group
	cmds    []redis.Cmder
	buffers []*buffer // one for each command
}

// buffer is the space for a command.
type buffer struct {
	cmd    redis.Cmd
	args   []any
	script scriptText
}

// group is the tasks of one command, and its result.
type group struct {
	command command
	tasks   []task
	result
}

func newWorker(n *node) *worker {
	return &worker{
		node: n, connection: connection{client: n.client}, warm: time.NewTimer(warm), names: make(map[string]struct{}),
	}
}

// rest waits until the worker is woken. It returns the connection to the pool after a while, because the client may have
// only one.
func (w *worker) rest() {
	if w.conn != nil {
		w.warm.Reset(warm)
		select {
		case <-w.node.wake:
			return
		case <-w.warm.C:
			w.close()
		}
	}
	<-w.node.wake
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

func (r result) lacksScript() bool { return refusal.Code(r.err) == refusal.NoScript }

// run sends the tasks in one pipeline after the other, and delivers their answers.
func (w *worker) run() {
	for rest := w.tasks; len(rest) > 0; {
		now := time.Now()
		rest = w.group(rest, now)
		if len(w.groups) > 0 {
			w.runPipeline(now.Add(w.node.config.Timeout))
		}
		for _, g := range w.groups {
			clear(g.tasks)
		}
	}
	clear(w.tasks)
}

// group makes the groups of a pipeline from the first tasks, and returns the other tasks. Those that have expired are
// not sent. A name is in a pipeline only once: its commands may be carried out in another order, if the node lacks the
// script of one of them.
func (w *worker) group(tasks []task, now time.Time) (rest []task) {
	w.groups = w.groups[:0]
	clear(w.names)
	for i, t := range tasks {
		if t.expired(now) {
			t.fail(errExpired)
			continue
		}
		if name := t.name(); name != "" && len(tasks) > 1 {
			if _, twice := w.names[name]; twice {
				return tasks[i:]
			}
			w.names[name] = struct{}{}
		}
		w.add(t)
	}
	return nil
}

func (w *worker) runPipeline(until time.Time) {
	if err := w.inspect(until); err != nil {
		for _, g := range w.groups {
			for _, t := range g.tasks {
				t.fail(err)
			}
		}
		return
	}
	w.exchange(until, w.groups)
	for i := range w.groups {
		g := &w.groups[i]
		g.command.deliver(w.node.index, g.tasks, &g.result)
	}
}

// add adds a task to a group of its command, or to a new group.
func (w *worker) add(t task) {
	c := t.command()
	for i := len(w.groups) - 1; i >= 0; i-- {
		g := &w.groups[i]
		if g.command == c && len(g.tasks) < c.limit() {
			g.tasks = append(g.tasks, t)
			return
		}
		if g.command == c {
			break // the earlier ones are full as well
		}
	}
	if len(w.groups) == cap(w.groups) {
		w.groups = append(w.groups, group{command: c, tasks: []task{t}})
		return
	}
	w.groups = w.groups[:len(w.groups)+1] // reuses the space of an earlier pipeline
	g := &w.groups[len(w.groups)-1]
	*g = group{command: c, tasks: append(g.tasks[:0], t)}
}

// inspect runs the inspection if it is due. The error is why the node must not be asked anything else.
func (w *worker) inspect(until time.Time) error {
	n := w.node
	if !n.uninspected.Swap(false) {
		return nil
	}
	inspection := n.config.Inspection
	asked := []group{{command: inspection.command}}
	if w.scriptsLoaded {
		w.exchange(until, asked)
	} else {
		w.send(until, asked, true)
		asked[0].addNature()
		w.see(asked[0])
	}
	if r := asked[0].result; !r.isAnswer() {
		n.inspect()
		return uninspected(r.err)
	}
	w.scriptsLoaded = true
	if err := inspection.judge(n.index, asked[0].result); err != nil {
		n.inspect()
		return failure{ErrUnsent, err}
	}
	return nil
}

// exchange sends the commands of the groups and stores their results. If the connection is broken, everything is sent
// once more on another one. Commands whose scripts the node lacks are sent once more with their scripts.
func (w *worker) exchange(until time.Time, groups []group) {
	w.send(until, groups, false)
	if isBroken(groups[0].err) {
		for i := range groups {
			groups[i].resent = groups[i].written
		}
		w.send(until, groups, false)
	}
	var lacking []group
	for _, g := range groups {
		if g.lacksScript() {
			lacking = append(lacking, g)
		}
	}
	if len(lacking) > 0 {
		w.send(until, lacking, true)
	}
	for i := range groups {
		g := &groups[i]
		if g.lacksScript() {
			g.result, lacking = lacking[0].result, lacking[1:]
		}
		g.resent = g.resent || g.written && !w.isOne()
		g.addNature()
		w.see(*g)
	}
}

// send sends the commands in one pipeline, by the hashes of their scripts. If load is set, the first command of each
// script has its source, which loads it for the others. All of Config.Scripts are loaded, too, if one of them is lacking,
// or none has been loaded.
func (w *worker) send(until time.Time, groups []group, load bool) {
	w.cmds = w.cmds[:0]
	var loaded []*Source
	for i, g := range groups {
		source := g.command.source()
		if load && !slices.Contains(loaded, source) {
			loaded = append(loaded, source)
			w.cmds = append(w.cmds, w.newCmd(i, g, eval, source.text))
		} else {
			w.cmds = append(w.cmds, w.newCmd(i, g, evalsha, source.sha))
		}
	}
	isLoaded := func(s *Source) bool { return slices.Contains(loaded, s) }
	if all := w.node.config.Scripts; !w.scriptsLoaded && load || slices.ContainsFunc(all, isLoaded) {
		for _, other := range all {
			if !isLoaded(other) {
				w.cmds = append(w.cmds, redis.NewCmd(context.Background(), "script", "load", other.text))
			}
		}
	}
	w.node.sends()
	sent := w.node.config.Now()
	err := w.process(until, w.cmds)
	w.received(groups, sent, err)
}

// evalsha and eval are already interfaces, so passing them to go-redis allocates nothing.
var evalsha, eval any = "evalsha", "eval"

// newCmd makes the i-th command of a pipeline.
func (w *worker) newCmd(i int, g group, command any, text []byte) *redis.Cmd {
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
func (w *worker) received(groups []group, sent time.Time, err error) {
	now := w.node.config.Now()
	for i := range groups {
		r, cmd := &groups[i].result, w.cmds[i].(*redis.Cmd)
		r.sent, r.received, r.err, r.written = sent, now, plain.Error(cmd.Err()), true
		switch {
		case r.err != nil:
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
		if w.isKnown() && w.buffers[i].script.withdraw() {
			r.written = false
			if w.isExhausted(r.err) {
				r.err = fmt.Errorf("%w: %w", errPoolInUse, r.err)
			}
		}
		w.buffers[i] = new(buffer) // a hook may let a failed command run on: it keeps its space
	}
	w.node.note(&groups[0].result)
}

// see reports an exchange to Config.Seen.
func (w *worker) see(g group) {
	source := g.command.source()
	refused := g.err != nil && g.isAnswer()
	if w.node.config.Seen == nil || refused && source.optional {
		return
	}
	w.node.config.Seen(w.node.index, Exchange{
		Script: source.name, Header: g.reply.Header, Err: g.err, Sent: g.sent, Received: g.received,
	})
}
