package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/faultplan"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/replay"
)

const (
	simTTL         = time.Second // the longest, too
	simNodeTimeout = 50 * time.Millisecond
	maxOffset      = 800 * time.Millisecond // below MaxTTL, as P3 asks for
	leftoverTime   = 2 * simNodeTimeout
)

// world is the nodes and processes of one plan, and what is known about them.
type world struct {
	*nodetest.Cluster
	t         *testing.T
	plan      plan
	start     time.Time
	replay    *replay.Checker
	processes []*process // changed by the plan alone
	all       []*process // including crashed ones
	running   sync.WaitGroup
	ending    sync.WaitGroup     // processes that have crashed
	stop      context.CancelFunc // tells processes to stop
	ctx       context.Context

	mu      sync.Mutex // guards the fields below; taken within scripts of nodes
	events  []event
	broken  []violation
	holds   map[string]*hold // by the text of their value
	token   uint64           // the latest
	won     int
	ahead   []time.Duration // by node: its clock
	refuses []time.Time     // by node: when it may set locks again, by its clock
	stepped []int           // nodes
	asked   []bool          // by node: asked what it came back with
	early   [][]string      // by node: the values it set before it was asked
	kept    []string        // by node: the value it came back with, which may be extended
	revived []string        // by node: a value it came back with that had ended
}

type event struct {
	at        time.Duration
	who, what string
}

type violation struct{ promise, how string }

func newWorld(t *testing.T, p plan) *world {
	w := &world{
		Cluster: nodetest.Start(p.nodes), t: t, plan: p, start: time.Now(), holds: make(map[string]*hold),
		ahead: make([]time.Duration, p.nodes), refuses: make([]time.Time, p.nodes), asked: make([]bool, p.nodes),
		early:  make([][]string, p.nodes),
		replay: replay.New(records.Default.Hash(), p.nodes, simTTL),
		kept:   make([]string, p.nodes), revived: make([]string, p.nodes),
	}
	w.ctx, w.stop = context.WithCancel(t.Context())
	for i, d := range p.offsets {
		w.ahead[i] = d
		w.Offset(i, d)
		w.SetPreHook(i, func(_ *server.Peer, cmd string, args ...string) bool {
			w.replay.Command(i, w.now(i), cmd, args...)
			if value := records.Default.Sets("x", cmd, args...); value != "" {
				w.set(i, value)
			}
			return false
		})
	}
	for i := range p.turns {
		w.processes = append(w.processes, w.newProcess(i, 0))
	}
	_, _ = w.processes[0].locker.TryAcquire(w.ctx, "first") // fails because all nodes are new
	synctest.Wait()
	w.sleep(simTTL + simTTL/100)
	for _, p := range w.processes {
		p.locker.Nodes(w.ctx) // so that each process has seen all clocks
		w.running.Go(p.run)
	}
	return w
}

// note adds to the description of a plan that fails.
func (w *world) note(who, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(who, format, args...)
}

func (w *world) noteLocked(who, format string, args ...any) {
	w.events = append(w.events, event{time.Since(w.start), who, fmt.Sprintf(format, args...)})
}

func (w *world) breakLocked(promise, format string, args ...any) {
	how := fmt.Sprintf(format, args...)
	w.broken = append(w.broken, violation{promise, how})
	w.noteLocked("", "BROKEN %s: %s", promise, how)
}

// now returns the time of a node's clock.
func (w *world) now(node int) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead[node])
}

// set observes a lock being set, within a script.
func (w *world) set(node int, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(fmt.Sprint("node ", node), "sets %s", records.Text(value))
	const exact = time.Millisecond // precision of the scripts
	now := time.Now().Add(w.ahead[node])
	switch {
	case !now.Truncate(exact).Before(w.refuses[node].Truncate(exact)):
	case w.asked[node]:
		w.early[node] = append(w.early[node], value)
	case value != w.kept[node]:
		w.breakLocked("P4", "node %d sets a lock %v too early", node, w.refuses[node].Sub(now))
	}
}

// sleep passes time, in which the clocks of fast nodes gain 0.8 %.
func (w *world) sleep(d time.Duration) {
	for d > 0 {
		part := min(d, 100*time.Millisecond)
		time.Sleep(part)
		d -= part
		for i, fast := range w.plan.fast {
			if fast {
				w.gain(i, part*8/1000)
			}
		}
	}
}

// gain moves a node's clock forward.
func (w *world) gain(node int, by time.Duration) {
	w.mu.Lock()
	w.ahead[node] += by
	w.mu.Unlock()
	w.Jump(node, by)
}

func (w *world) play(step faultplan.Step) {
	w.note("", "%v", step)
	p := w.processes[step.Who]
	before := make(map[int]string) // values of nodes that will come back with a copy
	if step.What == "restart with the copy" {
		for _, i := range step.Nodes {
			before[i] = w.holder(i)
		}
	}
	switch step.What {
	case "crash":
		p.crash()
	case "replace":
		w.replace(step.Who)
	case "pause":
		p.pause()
	case "resume":
		p.resume()
	case "suspend":
		w.suspend(min(step.Long, simTTL))
	case "leap":
		p.clock.Suspend(min(step.Long, simTTL))
	case "step the clock of":
		w.step(step)
	}
	step.Play(w.Cluster, p.links)
	w.became(step)
	p.stayPaused()
	switch step.What {
	case "restart", "wipe", "restart with the copy":
		for _, i := range step.Nodes {
			w.began(i, before[i])
		}
	}
}

// became tells the checker of the nodes that have other data now, or are another server.
func (w *world) became(step faultplan.Step) {
	switch step.What {
	case "restart", "wipe", "kill and wipe", "restart with the copy":
		for _, i := range step.Nodes {
			w.replay.Became(i, w.now(i), fieldsOf(w.Cluster, i))
		}
	}
}

// fieldsOf returns what a node has of the prefix.
func fieldsOf(nodes *nodetest.Cluster, i int) map[string]string {
	has := make(map[string]string)
	fields, _ := nodes.Node(i).HKeys(records.Default.Hash()) // an error means that there are none
	for _, field := range fields {
		has[field] = nodes.Node(i).HGet(records.Default.Hash(), field)
	}
	return has
}

// began records that node i is another server or has other data, and had another value before. The values that it sets
// before it is asked what it has are judged by that.
func (w *world) began(i int, before string) {
	w.mu.Lock()
	w.refuses[i] = time.Now().Add(w.ahead[i] + simTTL)
	w.asked[i], w.early[i] = true, nil
	w.mu.Unlock()
	value := w.holder(i)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[i], w.kept[i] = false, value
	for _, other := range w.early[i] {
		if other != value {
			w.breakLocked("P4", "node %d sets %s as soon as it is another", i, records.Text(other))
		}
	}
	// From an older file: a hold that has ended, or a failed attempt that was removed although its hold continues.
	if value != "" && (w.isOverLocked(value) || value != before && w.holds[records.Text(value)].state == asked) {
		w.revived[i] = value
	}
}

// replace replaces a crashed process. The new one knows no clock yet, so plans with small steps have none of these: only
// processes that know the clocks detect them.
func (w *world) replace(i int) {
	if w.plan.visible || !w.processes[i].isDead() {
		return
	}
	p := w.newProcess(i, w.processes[i].life+1)
	w.processes[i] = p
	w.running.Go(p.run)
}

// suspend suspends the machine of all processes while the nodes' machines continue. Nothing may run in between.
func (w *world) suspend(d time.Duration) {
	for i := range w.plan.nodes { // first: no process that has slept finds a node where it was before
		w.gain(i, d)
	}
	for _, p := range w.all {
		p.clock.Suspend(d)
	}
}

// step moves the clock of a node forward, within the assumptions of P1: not the clocks of a majority, not one clock
// twice, and each by another amount, because equal steps may look like a suspension of the process itself. The step is
// either more than MaxClockSkew relative to all other nodes, or small if all processes have seen the node before and
// none was suspended, so that they detect it. A small step must exceed the error of their knowledge: 1 % of the plan's
// length, and the round trip.
func (w *world) step(s faultplan.Step) {
	node := s.Nodes[0]
	if len(w.stepped) == w.plan.nodes/2 || slices.Contains(w.stepped, node) {
		w.note("", "left out")
		return
	}
	by := time.Duration(1+len(w.stepped))*5*time.Second + s.Long
	if w.plan.visible {
		by = 350*time.Millisecond + s.Long/20
	}
	w.stepped = append(w.stepped, node)
	w.gain(node, by)
}

// look checks what must hold at any time.
func (w *world) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkLocked()
}

// end has all processes release their locks, and checks what is left.
func (w *world) end() {
	w.note("", "all is well again")
	for _, p := range w.processes {
		p.resume()
	}
	w.stop()
	w.running.Wait()
	w.sleep(leftoverTime)
	for i := range w.plan.nodes {
		if value := w.holder(i); value != "" {
			w.find(i, value)
		}
	}
	if err := w.replay.Err(); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.breakLocked("the specification", "%v", err)
	}
}

// holder returns what node i has as the lock's value.
func (w *world) holder(i int) string { return records.Default.Holder(w.t, "x", w.Raw()[i]) }

// find checks the value that a node still has.
func (w *world) find(node int, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOverLocked(value) && w.revived[node] != value {
		w.breakLocked("P5", "node %d still has %s", node, value)
	}
}

// isOverLocked reports whether nobody can hold that value any more.
func (w *world) isOverLocked(value string) bool {
	h := w.holds[records.Text(value)]
	return h == nil || h.state == failed || h.state == over
}

// close stops all processes and nodes.
func (w *world) close() {
	w.Heal()
	for _, p := range w.processes {
		if !p.isDead() {
			w.ending.Go(func() { p.end(time.Minute) })
		}
	}
	w.ending.Wait()
	w.Close()
}
