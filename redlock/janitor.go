package redlock

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/due"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// maxLeftovers bounds the records remembered for a node that does not answer. Beyond it, the oldest are left to expire.
const maxLeftovers = 10_000

// maxReleases is how many releases one pipeline has.
const maxReleases = 64

// janitor removes from one node the leftovers of failed and finished acquisitions, and old records. It retries a release
// until the node has answered or the record has expired. Its goroutine runs from the first attempt to Close.
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
	queues    *queues
	ending    context.Context
	more      signal.Signal // that there may be something to do

	mu    sync.Mutex // guards the fields below
	queue due.Queue[leftover]
	sweep sweep
	last  bool // nothing is added any more: run ends when all is done
}

// leftover is a release that the node has yet to answer.
type leftover struct {
	field, value string
	until        time.Time // when it is pointless, by the Locker's clock
	tell         *tell
	// notAfter is when the node no longer acts on the grant, in microseconds since 1970, if it did not answer the grant:
	// that may still be on its way, or unread in the socket of a node that hung. Then a second release follows by that
	// time. If the grant was answered, notAfter is 0, and one answered release is enough.
	notAfter int64
	handover *handover // dropped as soon as somebody has taken the lock; nil: not known
}

func newJanitor(l *Locker, node int) *janitor {
	return &janitor{
		node: node, quorum: l.quorum, command: l.commands.release, sweeping: l.commands.sweep,
		retention: l.settings.FenceRetention.Milliseconds(), sweep: newSweep(),
		denied: func(err error) { l.observed.problem(node, "sweep", err) },
		clock:  l.clock, timeout: l.settings.NodeTimeout, tells: l.tells, queues: l.queues,
		ending: l.work, more: signal.New(),
	}
}

// add has the leftover released now. It never blocks: the goroutines that talk to the nodes call it.
func (j *janitor) add(left leftover) { j.put(left, j.clock.Now()) }

// put has the leftover released when it is due. Close does not wait for more who could be notified.
func (j *janitor) put(left leftover, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last && left.tell == &j.tells.more {
		return
	}
	j.queue.Add(left, at)
	if j.queue.Len() > maxLeftovers {
		j.queue.Remove(j.queue.First())
	}
	j.more.Set()
}

// granted counts a grant of the node. Some time later, old records are swept.
func (j *janitor) granted() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sweep.granted++; j.sweep.granted == j.sweep.after {
		j.more.Set()
	}
}

// makeRoom has old records swept because the node has no memory left.
func (j *janitor) makeRoom() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.sweep.full {
		j.sweep.full = true
		j.more.Set()
	}
}

// finish has run end when all is done. A process that has granted something and not swept yet sweeps before.
func (j *janitor) finish() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = true
	if j.sweep.granted > 0 && !j.sweep.made {
		j.sweep.after = 1
	}
	j.more.Set()
}

func (j *janitor) run() {
	// Short, so that the records are removed soon after the node answers again.
	pause := retry.Backoff{Min: j.timeout / 4, Max: j.timeout / 2}
	for failures := 0; j.ending.Err() == nil; {
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
			j.await(work.wait)
		case j.release(work.batch):
			failures = 0
		default:
			failures++
			_ = retry.Sleep(j.ending, pause.After(failures)) // the loop checks ending itself
		}
	}
}

// await waits until something is due, forever if wait is negative, or until there may be something else to do.
func (j *janitor) await(wait time.Duration) {
	var due <-chan time.Time
	if wait >= 0 {
		due = time.After(wait)
	}
	select {
	case <-due:
	case <-j.more:
	case <-j.ending.Done():
	}
}

// clean sweeps some old records.
func (j *janitor) clean(pause time.Duration) {
	j.mu.Lock()
	next := j.sweep.next
	j.mu.Unlock()
	round := quorum.Prepare(j.quorum, j.node, j.sweeping.Call(constants{next, sweptAtOnce, j.retention}))
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
		call := j.command.Call(&releasing{left.field, left.value, left.tell, j})
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
			if left := item.Value; !left.tell.frees {
				j.follow(left.field, left.value, left.handover, a, 2*apart)
			}
		} else {
			j.put(item.Value, j.clock.Now()) // behind the others: the reason may be this one
		}
	}
	return answered
}

// tell returns what a release does to the line, when it is sent, behind all that this process has sent about the lock. If
// nobody of the process waits any more, it is not put first, and the next ones, who may have taken the attempt for a hold,
// are notified. If somebody waits again, it does not leave: its place is that of the new call.
func (j *janitor) tell(field string, tell *tell) *tell {
	waits := j.queues.wait(nameOf(field))
	switch {
	case !waits && (tell == &j.tells.again || tell == &j.tells.failed):
		return &j.tells.failedOnce
	case waits && tell == &j.tells.leave:
		return &j.tells.nothing
	}
	return tell
}

// maxFollow is how long a node is asked to tell more of those in line. Each time, two who did not come go.
const maxFollow = 30 * time.Second

// follow has the node tell more of those in line until somebody has the lock, in case the first two do not come.
func (j *janitor) follow(field, value string, h *handover, a answer, pause time.Duration) {
	if a.Err != nil || a.Value.held || a.Value.number <= 2 {
		return
	}
	now := j.clock.Now()
	more := leftover{field: field, value: value, until: now.Add(maxFollow), tell: &j.tells.more, handover: h}
	j.put(more, now.Add(pause))
}

// work is what the janitor does next: it releases a batch, sweeps, or waits.
type work struct {
	batch []*due.Item[leftover]
	sweep bool
	wait  time.Duration // negative: there is nothing to do
	over  bool          // nor will there be
}

// next takes what is due from the queue, at most so many releases, without what has expired.
func (j *janitor) next(most int) (w work) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock.Now()
	first := j.queue.First()
	for ; first != nil && !first.At.After(now) && len(w.batch) < most; first = j.queue.First() {
		j.queue.Remove(first)
		if left := first.Value; !now.After(left.until) && (left.handover == nil || !left.handover.taken.Load()) {
			w.batch = append(w.batch, first)
		}
	}
	wait, sweeps := j.sweep.due(now)
	switch {
	case len(w.batch) > 0:
	case sweeps && wait == 0:
		w.sweep = true
	case first == nil && !sweeps:
		w.wait, w.over = -1, j.last
	case first == nil || sweeps && wait < first.At.Sub(now):
		w.wait = wait
	default:
		w.wait = first.At.Sub(now)
	}
	return w
}

// answered has a record released again if the grant may still act: when the node, by its own clock, no longer acts on it.
func (j *janitor) answered(left leftover, a answer) {
	if again := left.notAfter + 1 - a.Time; again > 0 {
		j.put(left, a.Received.Add(time.Duration(again)*time.Microsecond))
	}
}

// report returns an error that says what is left to expire by itself.
func (j *janitor) report() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var last time.Time
	n := 0
	for item := range j.queue.All() {
		if left := item.Value; left.tell.frees {
			n++
			if left.until.After(last) {
				last = left.until
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("redlock: close: locks may be left on %s: %d, the last expires by %s",
		j.quorum.Addr(j.node), n, j.clock.Local(last).Format(time.TimeOnly))
}

// The janitor of a node sweeps old records, a few at a time. Scanning 128 records takes a node as long as eight grants. So
// if most of them were old, the next sweep follows after few grants; if none was, sweeps become rarer each time. In
// between, each grant pays for four records. That keeps up even if every grant uses a new name and three of four records
// are still needed.
const (
	sweptAtOnce = 128 // records
	sweepSoon   = 8   // grants
	sweepAfter  = 32
	sweepAtMost = 1024
)

// sweep is the progress of the sweeps of one node.
type sweep struct {
	granted int       // grants since the last sweep
	after   int       // grants from one sweep to the next
	next    int64     // cursor of the next sweep, from the node
	made    bool      // there was one
	full    bool      // the node refused a request for lack of memory: sweep while much is removed, or until all was scanned
	notYet  time.Time // when the next sweep of a full node may follow
}

// newSweep starts with a random cursor, so that processes that sweep only once cover all records together.
func newSweep() sweep { return sweep{after: sweepAfter, next: int64(rand.Uint32())} }

// due returns in how long the next sweep is due, or false if that depends on grants.
func (s *sweep) due(now time.Time) (wait time.Duration, ok bool) {
	if s.full {
		return max(s.notYet.Sub(now), 0), true
	}
	return 0, s.granted >= s.after
}

// done records the outcome of a sweep. A sweep that failed is not repeated before as many grants again.
func (s *sweep) done(found swept, err error, notYet time.Time) {
	s.granted, s.made, s.notYet = 0, true, notYet
	if err != nil || found.denied != nil {
		s.full = false
		return
	}
	s.next = found.next
	switch {
	case found.removed >= sweptAtOnce/2:
		s.after = sweepSoon
	case found.removed > 0:
		s.after, s.full = sweepAfter, false
	default:
		s.after = min(2*s.after, sweepAtMost)
	}
	s.full = s.full && s.next != 0
}

// swept is the outcome of a sweep.
type swept struct {
	removed int64
	next    int64 // cursor of the next sweep
	denied  error // why records cannot be removed
}

func readSwept(r *quorum.Reply) (swept, error) {
	switch code, removed, next, err := item(r); {
	case err != nil:
		return swept{}, err
	case code == 'y':
		return swept{removed: removed, next: next}, nil
	case code == 'e':
		text, err := r.Text()
		return swept{denied: fmt.Errorf("old records are not removed: %.200q", text)}, err
	default:
		return swept{}, fmt.Errorf("unexpected answer %q", code)
	}
}
