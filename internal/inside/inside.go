// Package inside hands parts of a redlock.Locker to the other packages of this library. They are not public: with them a
// user could close the connections of a Locker, or shorten its leases.
package inside

import (
	"context"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// Packages redlock and election set these functions when they are initialized. Their types cannot name those of redlock and
// election, which import this package.
var (
	// CheckLocker returns the redlock.Settings that redlock.Open would use, and an error with every problem for which it would fail.
	// opts is a []redlock.Option. Without any URL, the nodes are not checked.
	CheckLocker func(urls []string, opts any) (settings any, err error)
	// CheckElection returns every problem for which election.New would refuse an election of this name on a Locker with these
	// redlock.Settings. opts is an []election.Option.
	CheckElection func(settings any, name string, opts any) error
	// Of returns the parts of a *redlock.Locker.
	Of func(locker any) Parts
	// Campaigning returns a redlock.AcquireOption.
	Campaigning func(Campaign) any
	// Join joins a *scheduler.Scheduler to an *election.Elector, for good. A later call changes nothing, and returns where the first
	// one was made.
	Join func(elector any, p Partner) (first string)
	// HasWork returns a channel that is closed when a callback was registered with an *election.Elector.
	HasWork func(elector any) <-chan struct{}
	// WithClock returns a redlock.Option for this module's own tests. It replaces the clock of this process.
	WithClock func(*clock.Clock) any
)

// ElectionLock returns the name of an election's lock. Its prefix keeps it apart from the application's own locks.
func ElectionLock(election string) string { return "election:" + election }

// Parts are what a Locker is made of.
type Parts struct {
	Quorum *quorum.Quorum // the connection to the nodes
	Clock  *clock.Clock   // of the leases
	// List returns the longest lease and the label of the list of nodes, for scripts that check the guard; empty without a guard. It
	// may have to ask the nodes first. No node serves the label that it returns if there is no list.
	List func(ctx context.Context) string
	// JoinNodes has all nodes that answer serve the list of this Locker's nodes, and returns why a node does not.
	JoinNodes func(ctx context.Context) []error

	// Listen returns a channel that receives a value whenever a message was published on channel, or may have been missed,
	// for example before the subscription was confirmed. It does so until stop is called.
	Listen func(channel string) (notices <-chan struct{}, stop func())
	// OnHolder calls fn with who holds a lock: at once, and each time that changes. The zero Holder means nobody. The calls come one
	// after the other on their own goroutine; if fn blocks, it misses all changes meanwhile but the last. None starts after stop, or
	// Locker.Close, has returned. Nothing is written to the nodes.
	OnHolder func(lock string, fn func(Holder)) (stop func())
	// Believes reports whether a lock can have this fencing number, by the clocks of a quorum.
	Believes func(number uint64) bool
	// Raise makes sure that the next lease of the lock called name has a token above number. It fails if number is too far
	// ahead of the nodes' clocks, or with redlock.ErrNoQuorum or redlock.ErrClosed.
	Raise func(ctx context.Context, name string, number uint64) error
}

// Holder is a redlock.Holder.
type Holder struct {
	Value   string
	Token   uint64
	Expires time.Time
}

// Partner is what an Elector knows of its Scheduler.
type Partner struct {
	Where string // it was made
	// Beside is called on a goroutine of its own in each Run, including one under way. The context ends with Run, which then
	// waits for Beside.
	Beside func(ctx context.Context)
	// Problems returns why jobs of this replica do not run. It must not block.
	Problems func() []Trouble
}

// Campaign is how a candidate waits for its lock.
type Campaign struct {
	// Value returns the text that is stored with the lock, for each attempt, so that it can say since when the lock is held.
	// Text beyond 4096 bytes is cut off. It must not block.
	Value func() string
	// HeadStart is the head start that others get: it delays the first attempt, and each attempt after the lock becomes
	// free. Too short: the candidate still wins against others that are slower by more than that. Too long: if nobody else
	// wants the lock, it stays free for that long.
	HeadStart time.Duration
	// Backoff is the range of pauses after an attempt that did not learn who holds the lock. They double with each such
	// attempt in a row. Too short: they load nodes that are already in trouble. Too long: the lock is acquired that much
	// later after an outage.
	Backoff retry.Backoff
	// Attempted is called after each attempt, with its duration and its error, nil if it succeeded. It shows what the
	// candidate is waiting for. It must not block.
	Attempted func(took time.Duration, err error)
}
