package replay

import (
	"fmt"
	"strconv"
	"strings"
)

// The rules of the job store.
const (
	Promise Rule = "promise" // within an incarnation, the ballot that a node has promised never falls
	Serve   Rule = "serve"   // a node stores a state only under the ballot that it has promised, in its incarnation
	Fresh   Rule = "fresh"   // and only if that ballot was taken long enough after the incarnation began
	Order   Rule = "order"   // a later write of a ballot is not replaced by an earlier one
	Opened  Rule = "opened"  // a run starts only if a majority of one list has stored a state in which it is open
	Once    Rule = "once"    // no attempt at a tick starts twice
)

// OfJobs are the rules of the job store.
var OfJobs = []Rule{Promise, Serve, Fresh, Order, Opened, Once}

// ahead is by how much a ballot may be ahead of a node's clock, in µs.
const ahead = 2_000_000

// store is what a node has stored of the jobs of one election.
type store struct {
	header  header
	known   bool
	entries map[string]entry // by job
	opened  map[opening]bool // of all states that it has stored
}

// opening says that a run was open, and in which list of nodes.
type opening struct{ job, run, label string }

// header is the header of the jobs: see begin.lua.
type header struct {
	began              uint64 // of the incarnation (µs)
	identity, promised string
}

// entry is the place of a state in the order of writes.
type entry struct{ tag, place string }

func (n *node) storeOf(key string) *store {
	if n.stores[key] == nil {
		n.stores[key] = &store{entries: make(map[string]entry), opened: make(map[opening]bool)}
	}
	return n.stores[key]
}

// setJob checks a field of the hash of the jobs of an election.
func (c *Checker) setJob(s *store, label, field, text string) error {
	if len(text) < 77 {
		return fmt.Errorf("%q is neither a header nor a state", text)
	}
	if field != "" {
		return c.setState(s, label, field, text)
	}
	began, err := strconv.ParseUint(text[2:18], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no header", text)
	}
	before, known := s.header, s.known
	s.header, s.known = header{began, text[19:31], text[32:58]}, true
	same := known && before.began == began && before.identity == s.header.identity
	return c.rule(Promise, !same || s.header.promised >= before.promised, "%s after %s", s.header.promised, before.promised)
}

func (c *Checker) setState(s *store, label, job, text string) error {
	tag, place := text[:28], text[28:62]
	before, ballot := s.entries[job], place[:26]
	s.entries[job] = entry{tag, place}
	for word := range strings.SplitSeq(text[77:], " ") {
		if values, ok := strings.CutPrefix(word, "open="); ok {
			v := strings.Split(values+",,,,", ",") // slot, ID, attempt, attempts left, token
			s.opened[opening{job, runOf(v[0], v[4]), label}] = true
		}
	}
	if !s.known {
		return nil
	}
	at, err := strconv.ParseUint(ballot[6:22], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no ballot", ballot)
	}
	if err := c.rule(Serve, tag == fmt.Sprintf("%016d%s", s.header.began, s.header.identity) && ballot == s.header.promised,
		"%s under %s, and the node has promised %s in its incarnation of %d", tag, ballot, s.header.promised, s.header.began); err != nil {
		return err
	}
	if err := c.rule(Fresh, at > s.header.began+ahead, "the ballot is of %d, the incarnation began at %d", at, s.header.began); err != nil {
		return err
	}
	return c.rule(Order, before.tag != tag || place >= before.place, "%s after %s", place, before.place)
}

func runOf(slot, token string) string { return slot + " of term " + token }

// Started checks that an attempt at a tick may start. tick is in ms since 1970.
func (c *Checker) Started(election, job string, tick int64, attempt int, token uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong != nil {
		return
	}
	c.steps++
	run := runOf(fmt.Sprintf("t%d", tick), strconv.FormatUint(token, 10))
	stored, isMajority := c.most(func(n *node, label string) bool {
		s := n.stores[c.hash+":jobs:"+election]
		return s != nil && s.opened[opening{job, run, label}]
	})
	this := fmt.Sprintf("%s/%s %d %d", election, job, tick, attempt)
	c.started[this]++
	err := c.rule(Opened, isMajority, "%v have stored a state with %s", stored, run)
	if err == nil {
		err = c.rule(Once, c.started[this] == 1, "it has started before")
	}
	if err != nil {
		c.wrong = fmt.Errorf("step %d: attempt %d of %s/%s %d starts: %w", c.steps, attempt, election, job, tick, err)
	}
}
