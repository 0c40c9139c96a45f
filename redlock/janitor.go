package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// maxLeftovers bounds the records remembered for a node that does not answer. Beyond it, the oldest are left to expire.
const maxLeftovers = 10_000

// maxReleases is how many releases one pipeline has.
const maxReleases = 64

// janitor removes from one node the leftovers of failed and finished acquisitions. It retries until the node has
// answered or the records have expired.
type janitor struct {
	node    int
	quorum  *quorum.Quorum
	command *quorum.Command[reply] // release
	clock   *clock.Clock
	timeout time.Duration // of the node
	ending  context.Context
	start   func(func()) bool
	more    chan struct{} // holds one signal that something was added

	mu      sync.Mutex // guards the fields below
	first   []leftover // waiting for a release, oldest first
	second  []leftover // waiting for another release, oldest first
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
	notAfter int64     // when the node no longer acts on the grant, in microseconds since 1970; 0: not known
	due      time.Time // of the second release
}

func newJanitor(l *Locker, node int) *janitor {
	return &janitor{
		node: node, quorum: l.quorum, command: l.commands.release, clock: l.clock, timeout: l.settings.NodeTimeout,
		ending: l.work, start: l.start, more: make(chan struct{}, 1),
	}
}

// add never blocks: the goroutines that talk to the nodes call it. The janitor's own goroutine ends when nothing is
// left to do, or with ending; the owner of start waits for it.
func (j *janitor) add(left leftover) { j.put(left, &j.first) }

func (j *janitor) put(left leftover, list *[]leftover) {
	j.mu.Lock()
	*list = append(*list, left)
	if len(*list) > maxLeftovers {
		*list = (*list)[1:]
	}
	start := !j.running
	j.running = true
	j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default: // it is signaled already
	}

	if start && !j.start(j.run) {
		j.signOff()
	}
}

func (j *janitor) run() {
	// Short, so that the records are removed soon after the node answers again.
	pause := retry.Backoff{Min: j.timeout / 4, Max: j.timeout / 2}
	for failures := 0; ; {
		batch, wait, ok := j.next()
		if !ok {
			return
		}
		if len(batch) == 0 {
			if !j.await(wait) {
				break
			}
			continue
		}
		if j.release(batch) {
			failures = 0
			continue
		}
		failures++
		if retry.Sleep(j.ending, pause.After(failures)) != nil {
			break
		}
	}
	j.signOff()
}

// release asks the node to remove these records, in one pipeline, and reports whether it answered at all.
func (j *janitor) release(batch []leftover) (answered bool) {
	rounds := make([]*round, len(batch))
	for i, left := range batch {
		call := j.command.Call(&releasing{left.field, left.value, left.tell, -1})
		rounds[i] = quorum.Prepare(j.quorum, j.node, call)
		rounds[i].Send()
	}
	for i, left := range batch {
		if rounds[i].Wait(j.ending) != nil {
			return answered
		}
		if a := rounds[i].Answer(0); a.Err == nil || isRecordError(a.Err) {
			answered = true
			j.answered(left, a)
			j.follow(left, a)
		}
	}
	return answered
}

// maxFollow is how long a node is asked to notify further processes. Each time removes one from its list.
const maxFollow = 30 * time.Second

// follow has the node notify further waiting processes until somebody holds the lock, in case the ones it notified do
// not come.
func (j *janitor) follow(left leftover, a answer) {
	notified := uint64(2)
	switch left.tell {
	case &notifyOver, &notifyNext, &notifyAgain:
	case &notifyAlso:
		notified = 1
	default:
		return
	}
	if a.Err != nil || a.Value.held || a.Value.number <= notified {
		return
	}
	now := j.clock.Now()
	left.due = now.Add(2 * apart)
	if left.tell != &notifyAgain {
		left.tell, left.until, left.sure = &notifyAgain, now.Add(maxFollow), true
		left.due = now.Add(4 * apart) // so that the winner has repaired this node if it has another one's vote
	}
	j.put(left, &j.second)
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

// next returns what to release now, or how long to wait before the next release. It returns false if nothing is left;
// the janitor has then signed off.
func (j *janitor) next() (batch []leftover, wait time.Duration, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock.Now()
	j.first, j.second = dropExpired(j.first, now), dropExpired(j.second, now)
	for _, left := range j.second {
		if len(batch) < maxReleases && !left.due.After(now) {
			batch = append(batch, left)
		}
	}
	batch = append(batch, j.first[:min(len(j.first), maxReleases-len(batch))]...)
	switch {
	case len(batch) > 0:
		return batch, 0, true
	case len(j.second) > 0:
		first := slices.MinFunc(j.second, func(a, b leftover) int { return a.due.Compare(b.due) })
		return nil, first.due.Sub(now), true
	}
	j.running = false
	return nil, 0, false
}

func dropExpired(list []leftover, now time.Time) []leftover {
	return slices.DeleteFunc(list, func(l leftover) bool { return now.After(l.until) })
}

// answered removes a released record from its list, unless newer records have pushed it out. If the grant may still
// act, the record is released again once the node, by its own clock, no longer acts on it.
func (j *janitor) answered(left leftover, a answer) {
	again := j.timeout // if the node's clock is not known
	if left.sure {
		again = 0
	} else if a.Time > 0 && left.notAfter > 0 {
		again = time.Duration(left.notAfter+1-a.Time) * time.Microsecond
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.Index(j.second, left); i >= 0 {
		j.second = slices.Delete(j.second, i, i+1)
		if left.notAfter == 0 {
			again = 0 // the second release was late enough
		}
	} else if i := slices.Index(j.first, left); i >= 0 {
		j.first = slices.Delete(j.first, i, i+1)
	} else {
		return
	}
	if again > 0 {
		left.due = a.Received.Add(again)
		j.second = append(j.second, left)
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
	all := slices.DeleteFunc(slices.Concat(j.first, j.second), func(l leftover) bool {
		return l.tell == &notifyNext || l.tell == &notifyAgain
	})
	if len(all) == 0 {
		return nil
	}
	last := slices.MaxFunc(all, func(a, b leftover) int { return a.until.Compare(b.until) })
	return fmt.Errorf("redlock: close: %d records may be left on %s, they expire by %s",
		len(all), j.quorum.Addr(j.node), j.clock.Local(last.until).Format(time.TimeOnly))
}
