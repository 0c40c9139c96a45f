package redlock

import (
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
)

// bestBefore is until when each node may still do what it is asked, by the node's own clock: as long
// as somebody waits for its answer. A request that a hung node finds in its socket hours later does
// nothing, so it leaves no key that nobody knows of.
type bestBefore struct {
	clocks *nodeclock.Clocks
	until  time.Time      // when nobody waits any more
	told   []atomic.Int64 // by node, in microseconds since the epoch; 0: nothing, its clock is not known
}

func (l *Locker) bestBefore(asked time.Time) *bestBefore {
	return &bestBefore{
		clocks: l.clocks, until: asked.Add(l.settings.NodeTimeout),
		told: make([]atomic.Int64, l.quorum.Size()),
	}
}

// at is what the node is told.
func (b *bestBefore) at(node int) any {
	_, latest, ok := b.clocks.Bounds(node, b.until)
	if !ok {
		return 0
	}
	latest = max(latest+granularity.Microseconds(), b.told[node].Load()) // it may be asked twice
	b.told[node].Store(latest)
	return latest
}

// of is what the node was told, and so the last moment at which it may have acted.
func (b *bestBefore) of(node int) int64 { return b.told[node].Load() }
