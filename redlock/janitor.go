package redlock

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// maxLeftovers bounds what is remembered for a node that does not answer; beyond it the oldest are
// left to run out by their TTL.
const maxLeftovers = 10_000

// janitor removes from one node what failed and finished holds left there, and asks again until
// the node has answered or the keys have run out by themselves.
type janitor struct {
	locker *Locker
	node   int
	more   chan struct{} // holds one signal that something was added

	mu      sync.Mutex // guards the fields below
	first   []leftover // to be released, oldest first
	second  []leftover // to be released once more, oldest first
	running bool
}

// leftover is a key that may be on the node.
type leftover struct {
	name, value string
	until       time.Time // when it has run out by itself
	// sure is whether one answered release is the end of it. Where the grant itself was not
	// answered it may still be on its way, or unread in the socket of a node that hung: then a
	// second release follows a node timeout after the node's first answer.
	sure bool
	due  time.Time // of the second release
}

// add never blocks: it is called from the goroutines that talk to the nodes. The janitor's own is
// counted in the Locker's work, ends when nothing is left or by the Locker's closing, and is
// waited for by Close.
func (j *janitor) add(left leftover) {
	j.mu.Lock()
	j.first = append(j.first, left)
	if len(j.first) > maxLeftovers {
		j.first = j.first[1:]
	}
	start := !j.running
	j.running = true
	j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default: // it is signalled already
	}

	if start && !j.locker.start(j.run) {
		j.signOff()
	}
}

func (j *janitor) run() {
	l := j.locker
	pause := retry.Backoff{Min: l.settings.NodeTimeout / 4, Max: 4 * l.settings.NodeTimeout}
	for failures := 0; ; {
		left, ok := j.next()
		if !ok {
			return
		}
		if wait := time.Until(left.due); wait > 0 {
			if !j.await(wait) {
				break
			}
			continue
		}
		call := releaseScript.Call([]string{l.lockKey(left.name)}, left.value)
		answer, err := l.quorum.AskNode(l.closing, j.node, call)
		if err == nil && (answer.Err == nil || isPermanent(answer.Err)) {
			failures = 0
			j.answered(left)
			continue
		}
		failures++
		if retry.Sleep(l.closing, pause.After(failures)) != nil {
			break
		}
	}
	j.signOff()
}

// await returns after d, or when something was added; false when the Locker is closing.
func (j *janitor) await(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.more:
	case <-j.locker.closing.Done():
		return false
	}
	return true
}

// next returns what to release next, and in due when. false: nothing is left, and the janitor has signed
// off.
func (j *janitor) next() (leftover, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	j.first, j.second = dropExpired(j.first, now), dropExpired(j.second, now)
	switch {
	case len(j.second) > 0 && (len(j.first) == 0 || !j.second[0].due.After(now)):
		return j.second[0], true
	case len(j.first) > 0:
		return j.first[0], true
	}
	j.running = false
	return leftover{}, false
}

func dropExpired(list []leftover, now time.Time) []leftover {
	for len(list) > 0 && now.After(list[0].until) {
		list = list[1:]
	}
	return list
}

// answered takes what was released off its list, unless newer ones have pushed it out meanwhile.
func (j *janitor) answered(left leftover) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.second) > 0 && j.second[0] == left {
		j.second = j.second[1:]
		return
	}
	if len(j.first) > 0 && j.first[0] == left {
		j.first = j.first[1:]
		if !left.sure {
			left.due = time.Now().Add(j.locker.settings.NodeTimeout)
			j.second = append(j.second, left)
		}
	}
}

func (j *janitor) signOff() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running = false
}

// report says what is left to run out by itself.
func (j *janitor) report() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := slices.Concat(j.first, j.second)
	if len(all) == 0 {
		return nil
	}
	last := slices.MaxFunc(all, func(a, b leftover) int { return a.until.Compare(b.until) })
	return fmt.Errorf("redlock: close: %d keys may be left on %s until %s",
		len(all), j.locker.quorum.Addr(j.node), last.until.Format(time.TimeOnly))
}
