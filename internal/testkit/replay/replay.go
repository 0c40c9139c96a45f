// Package replay checks what nodes did against the transition rules of the protocols. A test records the commands that each
// node carries out, those of clients and those inside scripts, with the node's clock, and the decisions of the processes. The
// checker keeps what each node has stored, as the specification does, and names the first step that the rules do not allow.
//
// It knows nothing of the scripts: only what they write. So it finds a wrong script, and a process that decides too early.
package replay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Checker checks the locks and jobs of one prefix. Its methods are safe for concurrent use.
type Checker struct {
	hash    string        // of the prefix
	longest time.Duration // lease
	nodes   []*node

	mu      sync.Mutex        // guards the fields below, and the nodes
	lists   map[string]string // of the servers' ids, by label; that of a server whose list was not seen is empty
	tokens  map[string]uint64 // by lock, the latest, and by lock and owner, its latest
	started map[string]int    // attempts
	steps   int
	counts  map[Rule]int // how often each rule was checked
	wrong   error        // the first wrong step
}

// Rule is a transition rule.
type Rule string

// The rules of the lock.
const (
	Free     Rule = "free"     // a node gives a lock only if nobody holds it there, by its clock
	Guard    Rule = "guard"    // a server that may have lost locks gives none until the longest lease has passed
	Restart  Rule = "restart"  // a guard begins when the server does not know itself again, and not before
	Grow     Rule = "grow"     // the number of a lock never falls, and a new holder's is larger
	End      Rule = "end"      // a hold that is ended ends now, and not at another time
	Listed   Rule = "listed"   // a node gives a lock only while it is joined in a list and has taken no other
	Majority Rule = "majority" // a process has a lease only if a majority of one list has given the lock to it
	Raised   Rule = "raised"   // and a majority has its token or a larger number
	Tokens   Rule = "tokens"   // tokens increase
)

// OfLocks are the rules of the lock.
var OfLocks = []Rule{Free, Guard, Restart, Grow, End, Listed, Majority, Raised, Tokens}

// node is what a node has stored.
type node struct {
	records map[string]record
	guard   guard
	known   bool                         // guard is of this server, not of the one that it was before
	id      string                       // in lists
	label   string                       // of the list in which it is joined; empty while it has taken another
	became  int64                        // when it got other data, or became another server, by its clock (µs)
	gave    map[string]map[string][]gift // by lock and owner
	stores  map[string]*store            // by the key of the jobs
	script  []string                     // the call of a script that was seen last
}

// gift is the number with which a node gave a lock, and the label of its list then.
type gift struct {
	number uint64
	label  string
}

// New returns a Checker of the prefix with this hash of its locks, on so many nodes.
func New(hash string, nodes int, longest time.Duration) *Checker {
	c := &Checker{
		hash: hash, longest: longest, lists: map[string]string{"": strings.Repeat(",", nodes-1)},
		tokens: make(map[string]uint64), started: make(map[string]int), counts: make(map[Rule]int),
	}
	for range nodes {
		n := &node{records: make(map[string]record), gave: make(map[string]map[string][]gift), stores: make(map[string]*store)}
		c.nodes = append(c.nodes, n)
	}
	return c
}

// Err returns the first wrong step, or nil.
func (c *Checker) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}

// AddTo adds how often each rule was checked, and returns how many steps were.
func (c *Checker) AddTo(counts map[Rule]int) (steps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r, n := range c.counts {
		counts[r] += n
	}
	return c.steps
}

// Became says that node i is another server from then on, or has other data: now it has these fields. Its guard must begin again.
func (c *Checker) Became(i int, then time.Time, fields map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.become(c.nodes[i], then.UnixMicro(), fields)
}

func (c *Checker) become(n *node, then int64, fields map[string]string) {
	n.records, n.became = make(map[string]record), then
	n.guard, _ = parseGuard(fields["g"]) // an error means that there is none
	n.known = n.guard.since >= then
	c.setList(n, fields["s"])
	for _, s := range n.stores {
		s.known, s.entries = false, make(map[string]entry)
	}
	for field, text := range fields {
		if r, err := parseRecord(text); err == nil && strings.HasPrefix(field, "n:") {
			n.records[field] = r
		}
	}
}

// Command checks a command that node i carries out at an instant of its clock.
func (c *Checker) Command(i int, now time.Time, command string, args ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, at := c.nodes[i], now.UnixMicro()
	command = strings.ToUpper(command)
	if command == "EVALSHA" || command == "EVAL" {
		n.script = args
		if slices.Contains(args, "force") { // a person decides: whatever the node has granted, its guard begins again
			n.known, n.became = false, at-late.Microseconds()
		}
	}
	if command == "FLUSHALL" || command == "FLUSHDB" {
		c.become(n, at, nil)
	}
	if c.wrong != nil || len(args) == 0 {
		return
	}
	ofJobs := strings.HasPrefix(args[0], c.hash+":jobs:")
	if args[0] != c.hash && !ofJobs {
		return
	}
	var err error
	for k := 1; command == "HSET" && k+1 < len(args); k += 2 {
		c.steps++
		if ofJobs {
			err = errors.Join(err, c.setJob(n.storeOf(args[0]), n.label, args[k], args[k+1]))
		} else {
			err = errors.Join(err, c.set(n, at, args[k], args[k+1]))
		}
	}
	for _, field := range args[1:] {
		switch {
		case command != "HDEL":
		case ofJobs:
			delete(n.storeOf(args[0]).entries, field)
		default:
			delete(n.records, field)
		}
	}
	if err != nil {
		c.wrong = fmt.Errorf("step %d, node %d at %s: %q: %w; the script: %.200q", c.steps, i, now.Format("15:04:05.000000"), args, err, n.script)
	}
}

// Granted checks that a process may have a lease: owner is the text that it gave as its value.
func (c *Checker) Granted(lock, owner string, token uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong != nil {
		return
	}
	c.steps++
	field, last, own := "n:"+lock, c.tokens[lock], c.tokens[lock+" "+owner]
	gave, isMajority := c.most(func(n *node, label string) bool {
		return slices.ContainsFunc(n.gave[field][owner], func(g gift) bool {
			return g.label == label && own < g.number && g.number <= token // with a smaller one it had given another lease
		})
	})
	raised, areRaised := c.most(func(n *node, label string) bool {
		return n.became > 0 || n.records[field].number >= token && strings.Contains(c.lists[label], n.id) // it may have lost it
	})
	c.tokens[lock], c.tokens[lock+" "+owner] = token, token
	err := errors.Join(
		c.rule(Tokens, token > last, "its token is %d after %d", token, last),
		c.rule(Majority, isMajority || token <= last, "%v gave it the lock with a number after %d and up to %d", gave, own, token),
		c.rule(Raised, areRaised, "%v have its token %d or a larger number", raised, token),
	)
	if err != nil {
		c.wrong = fmt.Errorf("step %d: %s has %s: %w", c.steps, owner, lock, err)
	}
}

// most returns how many servers of a list did something in it: a majority, or the most of any list.
func (c *Checker) most(did func(n *node, label string) bool) (s share, isMajority bool) {
	for label, ids := range c.lists {
		n := 0
		for _, node := range c.nodes {
			if did(node, label) {
				n++
			}
		}
		if of := strings.Count(ids, ",") + 1; s.of == 0 || n*s.of > s.n*of {
			s = share{n, of}
		}
	}
	return s, 2*s.n > s.of
}

// share is a number of nodes, out of all nodes of their list.
type share struct{ n, of int }

func (s share) String() string { return fmt.Sprintf("%d of %d nodes", s.n, s.of) }

// rule counts a check, and returns an error unless it holds.
func (c *Checker) rule(r Rule, holds bool, format string, args ...any) error {
	c.counts[r]++
	if holds {
		return nil
	}
	return fmt.Errorf("rule %s: %s", r, fmt.Sprintf(format, args...))
}

// Counts returns how often each rule was checked, as text.
func Counts(counts map[Rule]int) string {
	var b strings.Builder
	for _, r := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, " %s %d", r, counts[r])
	}
	return b.String()
}
