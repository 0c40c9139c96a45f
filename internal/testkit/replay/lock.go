package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is what a node stores of a lock: see acquire.lua.
type record struct {
	number, since uint64
	deadline      int64 // µs
	value         string
}

func parseRecord(text string) (r record, err error) {
	if len(text) < 51 {
		return r, fmt.Errorf("%q is no record", text)
	}
	number, err1 := strconv.ParseUint(text[:16], 10, 64)
	since, err2 := strconv.ParseUint(text[17:33], 10, 64)
	deadline, err3 := strconv.ParseInt(text[34:50], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return r, fmt.Errorf("%q is no record", text)
	}
	return record{number, since, deadline, text[51:]}, nil
}

// acquisition is the same in all values of one call, and owner is the text that the user gave.
func (r record) acquisition() string { return r.value[:min(26, len(r.value))] }

func ownerOf(value string) string {
	parts := strings.SplitN(value, ":", 3)
	return parts[len(parts)-1]
}

// guard is the guard of a server: see guard.lua.
type guard struct {
	identity     string
	since, until int64 // µs
}

func parseGuard(text string) (g guard, err error) {
	if len(text) < 76 {
		return g, fmt.Errorf("%q is no guard", text)
	}
	g.identity = text[2:42]
	since, err1 := strconv.ParseInt(text[43:59], 10, 64)
	until, err2 := strconv.ParseInt(text[60:76], 10, 64)
	if err1 != nil || err2 != nil {
		return g, fmt.Errorf("%q is no guard", text)
	}
	g.since, g.until = since, until
	return g, nil
}

// setList notes which list a server serves: ID JOINED TAKEN..., each list with its label first and its servers last. See
// internal package lists.
func (c *Checker) setList(n *node, text string) {
	words := append(strings.Fields(text), "")
	n.id, n.label = words[0], ""
	if len(words) != 3 || words[1] == "-" {
		return
	}
	parts := strings.Split(words[1], ":")
	n.label = parts[0]
	c.lists[n.label] = parts[len(parts)-1]
}

// set checks a field that is written.
func (c *Checker) set(n *node, now int64, field, text string) error {
	switch {
	case field == "g":
		return c.setGuard(n, now, text)
	case field == "s":
		c.setList(n, text)
	case strings.HasPrefix(field, "n:"):
		return c.setRecord(n, now, field, text)
	}
	return nil
}

// late is by how much a command may be seen later than the script read the clock.
const late = 100 * time.Millisecond

func (c *Checker) setGuard(n *node, now int64, text string) error {
	g, err := parseGuard(text)
	if err != nil {
		return err
	}
	before, known := n.guard, n.known
	n.guard = g
	if !known && g == before { // of the server that it was before: only its list changes
		return nil
	}
	n.known = true
	if known && before.identity == g.identity && before.since <= now {
		return c.rule(Restart, g.since == before.since && g.until >= before.until, "the guard from %d to %d becomes one from %d to %d",
			before.since, before.until, g.since, g.until)
	}
	began := now - late.Microseconds()
	if !known {
		began = n.became
	}
	return c.rule(Restart, g.since >= began && g.since <= now && g.until-g.since >= c.longest.Microseconds(),
		"the guard of another server is from %d to %d, since %d; now is %d", g.since, g.until, began, now)
}

func (c *Checker) setRecord(n *node, now int64, field, text string) error {
	r, err := parseRecord(text)
	if err != nil {
		return err
	}
	before := n.records[field]
	n.records[field] = r
	if err := c.rule(Grow, r.number >= before.number, "%d after %d", r.number, before.number); err != nil {
		return err
	}
	held := before.value != "" && now < before.deadline
	switch {
	case r.value == "":
		return c.rule(End, r.deadline <= now, "the hold of %q is to end at %d, now is %d", before.value, r.deadline, now)
	case !held && r.value == before.value && r.deadline <= now: // only its number is raised: the hold is over
		return nil
	case held && r.value == before.value:
		c.give(n, field, r)
		return nil
	}
	c.give(n, field, r)
	err = c.rule(Free, !held || r.acquisition() == before.acquisition(), "%q holds it until %d, now is %d", before.value, before.deadline, now)
	if err != nil {
		return err
	}
	if err := c.rule(Listed, n.label != "", "it is in no list"); err != nil {
		return err
	}
	return c.rule(Guard, n.known && n.guard.since+c.longest.Microseconds() <= now, "the guard began at %d, now is %d", n.guard.since, now)
}

// give notes that a node gives a lock.
func (c *Checker) give(n *node, field string, r record) {
	if n.gave[field] == nil {
		n.gave[field] = make(map[string][]gift)
	}
	if to, g := ownerOf(r.value), (gift{r.number, n.label}); !slices.Contains(n.gave[field][to], g) {
		n.gave[field][to] = append(n.gave[field][to], g)
	}
}
