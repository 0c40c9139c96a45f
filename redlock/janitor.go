package redlock

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/due"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// maxLeftovers bounds the records remembered for a node that does not answer. Beyond it, the oldest are left to expire.
const maxLeftovers = 10_000

// maxReleases is how many releases one pipeline has.
const maxReleases = 64

// janitor removes from one node the leftovers of failed and finished acquisitions, and old records. It retries a release
// until the node has answered or the record has expired.
type janitor struct {
	node      int
	quorum    *quorum.Quorum
	command   *quorum.Command[reply] // release
	sweeping  *quorum.Command[swept]
	retention int64       // of old records, in milliseconds
	denied    func(error) // reports that old records cannot be removed
	clock     *clock.Clock
	timeout   time.Duration // of the node
	tells     *tells
	ending    context.Context
	start     func(func()) bool
	more      chan struct{} // holds one signal that something was added

	mu      sync.Mutex // guards the fields below
	queue   due.Queue[leftover]
	sweep   sweep
	running bool
}

// leftover is a record that may be on the node.
type leftover struct {
	field, value string
	until        time.Time // when it has expired, by the Locker's clock
	tell         *string   // see releasing
	// sure says that one answered release is enough. Otherwise the grant itself was not answered: it may still be on
	// its way, or unread in the socket of a node that hung. Then a second release follows when the node no longer acts
	// on the grant.
	sure     bool
	notAfter int64     // when the node no longer acts on the grant, in microseconds since 1970
	told     *handover // dropped as soon as somebody has taken the lock; nil: not known
}

func newJanitor(l *Locker, node int) *janitor {
	return &janitor{
		node: node, quorum: l.quorum, command: l.commands.release, sweeping: l.commands.sweep,
		retention: l.settings.FenceRetention.Milliseconds(), sweep: newSweep(),
		denied: func(err error) { l.observeDenied(node, "sweep", err) },
		clock:  l.clock, timeout: l.settings.NodeTimeout, tells: l.tells, ending: l.work, start: l.start, more: make(chan struct{}, 1),
	}
}

// add has the leftover released now. It never blocks: the goroutines that talk to the nodes call it. The janitor's own
// goroutine ends when nothing is left to do, or with ending; the owner of start waits for it.
func (j *janitor) add(left leftover) { j.put(left, j.clock.Now()) }

// put has the leftover released when it is due.
func (j *janitor) put(left leftover, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queue.Add(left, at)
	if j.queue.Len() > maxLeftovers {
		j.queue.Remove(j.queue.First())
	}
	j.wakeLocked()
}

// granted counts a grant of the node. Some time later, old records are swept.
func (j *janitor) granted() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sweep.granted++; j.sweep.granted == j.sweep.after {
		j.wakeLocked()
	}
}

// makeRoom has old records swept because the node has no memory left.
func (j *janitor) makeRoom() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.sweep.full {
		j.sweep.full = true
		j.wakeLocked()
	}
}

// close has old records swept by a process that has granted something and not swept yet.
func (j *janitor) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sweep.granted > 0 && !j.sweep.made {
		j.sweep.after = 1
		j.wakeLocked()
	}
}

// wakeLocked has run look for what is due.
func (j *janitor) wakeLocked() {
	select {
	case j.more <- struct{}{}:
	default: // it is signaled already
	}
	if !j.running {
		j.running = j.start(j.run)
	}
}

func (j *janitor) run() {
	// Short, so that the records are removed soon after the node answers again.
	pause := retry.Backoff{Min: j.timeout / 4, Max: j.timeout / 2}
	for failures := 0; ; {
		most := maxReleases
		if failures > 0 {
			most = 1 // enough to find out whether the node answers again
		}
		work := j.next(most)
		switch {
		case work.over:
			return
		case work.sweep:
			j.clean(pause.Min)
		case len(work.batch) == 0:
			if !j.await(work.wait) {
				j.signOff()
				return
			}
		case j.release(work.batch):
			failures = 0
		default:
			failures++
			if retry.Sleep(j.ending, pause.After(failures)) != nil {
				j.signOff()
				return
			}
		}
	}
}

// clean sweeps some old records.
func (j *janitor) clean(pause time.Duration) {
	j.mu.Lock()
	next := j.sweep.next
	j.mu.Unlock()
	round := quorum.Prepare(j.quorum, j.node, j.sweeping.Call(sweeping{next, sweptAtOnce, j.retention}))
	round.Send()
	err := round.Wait(j.ending)
	a := round.Answer(0)
	if a.Value.denied != nil {
		j.denied(a.Value.denied)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sweep.done(a.Value, cmp.Or(err, a.Err), j.clock.Now().Add(pause))
}

// release asks the node to remove these records, in one pipeline, and reports whether it answered at all. What it did
// not answer is left for another time.
func (j *janitor) release(batch []*due.Item[leftover]) (answered bool) {
	rounds := make([]*round, len(batch))
	for i, item := range batch {
		left := item.Value
		call := j.command.Call(&releasing{left.field, left.value, left.tell})
		rounds[i] = quorum.Prepare(j.quorum, j.node, call)
		rounds[i].Send()
	}
	for i, item := range batch {
		var a answer
		if rounds[i].Wait(j.ending) == nil {
			a = rounds[i].Answer(0)
		}
		if a.Over && (a.Err == nil || isRecordError(a.Err)) {
			answered = true
			j.answered(item.Value, a)
			if left := item.Value; left.tell == &j.tells.more || left.tell == &j.tells.leave {
				j.follow(left.field, left.value, left.told, a, 2*apart)
			}
		} else {
			j.put(item.Value, j.clock.Now()) // behind the others: the reason may be this one
		}
	}
	return answered
}

// maxFollow is how long a node is asked to tell more of those in line. Each time, two who did not come go.
const maxFollow = 30 * time.Second

// follow has the node tell more of those in line until somebody has the lock, in case the first two do not come.
func (j *janitor) follow(field, value string, told *handover, a answer, pause time.Duration) {
	if a.Err != nil || a.Value.held || a.Value.number <= 2 {
		return
	}
	now := j.clock.Now()
	j.put(leftover{
		field: field, value: value, until: now.Add(maxFollow), tell: &j.tells.more, sure: true, told: told,
	}, now.Add(pause))
}

// await waits for d, or until something is added. It returns false when the janitor must end.
func (j *janitor) await(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.more:
	case <-j.ending.Done():
		return false
	}
	return true
}

// work is what the janitor does next: it releases a batch, sweeps, or waits. If it is over, the janitor has signed off.
type work struct {
	batch []*due.Item[leftover]
	sweep bool
	wait  time.Duration
	over  bool
}

// next takes what is due from the queue, at most so many releases, without what has expired.
func (j *janitor) next(most int) (w work) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock.Now()
	first := j.queue.First()
	for ; first != nil && !first.At.After(now) && len(w.batch) < most; first = j.queue.First() {
		j.queue.Remove(first)
		if left := first.Value; !now.After(left.until) && (left.told == nil || !left.told.taken.Load()) {
			w.batch = append(w.batch, first)
		}
	}
	wait, sweeps := j.sweep.due(now)
	switch {
	case len(w.batch) > 0:
	case sweeps && wait == 0:
		w.sweep = true
	case first == nil && !sweeps:
		j.running, w.over = false, true
	case first == nil || sweeps && wait < first.At.Sub(now):
		w.wait = wait
	default:
		w.wait = first.At.Sub(now)
	}
	return w
}

// answered has a record released again if the grant may still act: when the node, by its own clock, no longer acts on it.
func (j *janitor) answered(left leftover, a answer) {
	if again := left.notAfter + 1 - a.Time; !left.sure && again > 0 {
		j.put(left, a.Received.Add(time.Duration(again)*time.Microsecond))
	}
}

func (j *janitor) signOff() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running = false
}

// report returns an error that says what is left to expire by itself.
func (j *janitor) report() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var last time.Time
	n := 0
	for item := range j.queue.All() {
		if left := item.Value; left.tell != &j.tells.leave && left.tell != &j.tells.more {
			n++
			if left.until.After(last) {
				last = left.until
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("redlock: close: %d records may be left on %s, they expire by %s",
		n, j.quorum.Addr(j.node), j.clock.Local(last).Format(time.TimeOnly))
}
