package jobstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Why something was not done; to be told apart with errors.Is.
var (
	// ErrNoQuorum says that too few nodes answered as it would take.
	ErrNoQuorum = errors.New("no quorum of nodes")
	// ErrFenced says that a larger ballot was promised: another leads, or has led, since.
	ErrFenced = errors.New("a larger ballot was promised")
	// ErrForgotten says that a node may have lost what it knew: it takes part again when it is prepared.
	ErrForgotten = errors.New("the node may have lost its state")
	// ErrYoung says that a ballot is not above all that a node can have lost: one that is taken later is.
	ErrYoung = errors.New("the node may have lost its state just now")
	// ErrAhead says that a ballot, or a mark, is ahead of a node's clock.
	ErrAhead = errors.New("ahead of the node's clock")
	// ErrPaused says that a tick was to be opened while a pause stood that the state does not name.
	ErrPaused = errors.New("the job is paused")
	// ErrLate says that a later state of the job is stored.
	ErrLate = errors.New("a later state of the job is stored")
)

// Ahead is how far a ballot, a mark or a setting may be ahead of a node's clock.
const Ahead = 2 * time.Second

// Config is what a Store works on.
type Config struct {
	Quorum   *quorum.Quorum
	Prefix   string // of all keys
	Election string // whose jobs they are
	List     string // of the nodes' guard: longest lease and length of the list; empty: no guard
	Unseen   bool   // accept nodes whose restarts cannot be seen
}

// Store reaches what the nodes know of the jobs. Its methods are safe for concurrent use.
type Store struct {
	config  Config
	writing []any // how the arguments of scripts begin that write
	reading []any // and of those that only read
}

// New makes a Store.
func New(c Config) *Store {
	flags := ""
	if c.Unseen {
		flags = "b"
	}
	marker := "j:" + name.Escape(c.Election)
	return &Store{config: c, writing: []any{c.List, flags, marker}, reading: []any{c.List, flags + "s", marker}}
}

func (s *Store) key(kind string) string { return name.Key(s.config.Prefix, kind, s.config.Election) }

func (s *Store) hash() string              { return "{" + s.config.Prefix + "}" }
func (s *Store) jobsKey() string           { return s.key("jobs") }
func (s *Store) namesKey() string          { return s.key("names") }
func (s *Store) runsKey(job string) string { return s.key("runs") + ":" + job }
func (s *Store) changesKey() string        { return s.key("changes") }

// Channel is where nodes publish that something was set.
func (s *Store) Channel() string { return s.key("jobs") }

func (s *Store) keys(more ...string) []string {
	return slices.Concat([]string{s.hash(), s.jobsKey()}, more)
}

// shortfall is why something was not done: too few nodes did their part. cause is why nobody waited for more.
func (s *Store) shortfall(op string, got int, nodes []quorum.NodeError, kind, cause error) error {
	q := s.config.Quorum
	err := error(&quorum.Shortfall{Op: op, Kind: kind, Size: q.Size(), Need: q.Majority(), Got: got, Nodes: nodes})
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
