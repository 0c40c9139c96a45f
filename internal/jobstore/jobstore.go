package jobstore

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Errors of the methods of Store. Use errors.Is.
var (
	// ErrNoQuorum says that no majority of the nodes carried out the call.
	ErrNoQuorum = errors.New("too few nodes")
	// ErrFenced says that nodes have promised a larger ballot: another leader leads, or has led since.
	ErrFenced = errors.New("a larger ballot was promised")
	// ErrStateLost says that a node may have lost its state. It takes part again after the next Prepare.
	ErrStateLost = errors.New("the node may have lost its state")
	// ErrYoung says that a node may have served the ballot before it lost its state. It serves ballots that are taken later.
	ErrYoung = errors.New("the node may have lost its state just now")
	// ErrAhead says that a ballot, or a mark, is ahead of a node's clock.
	ErrAhead = errors.New("ahead of the node's clock")
	// ErrLate says that a later state of the job is stored.
	ErrLate = errors.New("a later state of the job is stored")
)

// Ahead bounds how far a ballot, a high-water mark or a request may be ahead of a node's clock.
const Ahead = 2 * time.Second

// Config has the settings of a Store.
type Config struct {
	Quorum   *quorum.Quorum
	Prefix   string // of all keys
	Election string // whose jobs the Store has
	// List returns what the nodes' guard checks: longest lease and label of the list; empty: no guard.
	List   func(ctx context.Context) string
	Unseen bool // accept nodes whose restarts cannot be seen
}

// Store reads and writes the jobs of an election on the nodes. Its methods are safe for concurrent use.
type Store struct {
	config Config
	flags  string
	marker string       // field in the hash of the locks
	asked  atomic.Int64 // the newest version of a request, also of one that has failed
}

// New returns a Store.
func New(c Config) *Store {
	flags := ""
	if c.Unseen {
		flags = "b"
	}
	return &Store{config: c, flags: flags, marker: "j:" + name.Escape(c.Election)}
}

// leading returns the first arguments of a leader's scripts, which update the guard.
func (s *Store) leading(ctx context.Context) []any {
	return []any{s.config.List(ctx), s.flags, s.marker}
}

// asking returns the first arguments of all other scripts: without taking a lock they must not lengthen a guard.
func (s *Store) asking(ctx context.Context) []any {
	return []any{s.config.List(ctx), s.flags + "s", s.marker}
}

func (s *Store) key(kind string) string { return name.Key(s.config.Prefix, kind, s.config.Election) }

func (s *Store) hash() string              { return "{" + s.config.Prefix + "}" }
func (s *Store) jobsKey() string           { return s.key("jobs") }
func (s *Store) namesKey() string          { return s.key("names") }
func (s *Store) runsKey(job string) string { return s.key("runs") + ":" + job }
func (s *Store) requestsKey() string       { return s.key("requests") }
func (s *Store) pastKey(job string) string { return s.key("requests") + ":" + job }

// Channel returns the channel on which nodes publish requests.
func (s *Store) Channel() string { return s.key("jobs") }

func (s *Store) keys(more ...string) []string {
	return slices.Concat([]string{s.hash(), s.jobsKey()}, more)
}
