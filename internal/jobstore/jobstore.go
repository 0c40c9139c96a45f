package jobstore

import (
	"errors"
	"slices"
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
	List     string // for the nodes' guard: longest lease and length of the list; empty: no guard
	Unseen   bool   // accept nodes whose restarts cannot be seen
}

// Store reads and writes the jobs of an election on the nodes. Its methods are safe for concurrent use.
type Store struct {
	config  Config
	leading []any // first arguments of a leader's scripts, which update the guard
	asking  []any // first arguments of all other scripts: without taking a lock they must not start or lengthen a guard
}

// New returns a Store.
func New(c Config) *Store {
	flags := ""
	if c.Unseen {
		flags = "b"
	}
	marker := "j:" + name.Escape(c.Election)
	return &Store{config: c, leading: []any{c.List, flags, marker}, asking: []any{c.List, flags + "s", marker}}
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
