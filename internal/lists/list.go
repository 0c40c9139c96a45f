package lists

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// List is a set of servers, its turn, and the addresses of who made it, as the servers keep it: LABEL:TURN:WHERE:ID,ID,... The empty
// List stands for none.
type List string

// newList returns the list of these ids.
func newList(turn int, where string, ids []string) List {
	rest := fmt.Sprintf("%d:%s:%s", turn, where, strings.Join(slices.Sorted(slices.Values(ids)), ","))
	return List(hash(rest) + ":" + rest)
}

var listFormat = regexp.MustCompile(`^[0-9a-f]{16}:[0-9]{1,9}:[0-9a-f]{0,16}:[0-9a-f]{16}(,[0-9a-f]{16})*$`)

// whereOf returns a short form of the addresses of a process. It is empty if a client does not tell its address, as those of Sentinel:
// then nothing shows that two processes have the same ones.
func whereOf(addrs []string) string {
	for _, addr := range addrs {
		if !strings.Contains(addr, ":") {
			return ""
		}
	}
	return hash(strings.Join(slices.Sorted(slices.Values(addrs)), " "))
}

func hash(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])[:16]
}

// parseList reads a list of which a server says that it remembers it.
func parseList(text string) (List, error) {
	if text == "-" {
		return "", nil
	}
	if !listFormat.MatchString(text) {
		return "", fmt.Errorf("this version did not write the list of nodes %.100q", text)
	}
	return List(text), nil
}

// Label returns the label, by which requests name the list.
func (l List) Label() string { return string(l[:16]) }

// part returns the text between colons.
func (l List) part(n int) string {
	if l == "" {
		return ""
	}
	return strings.Split(string(l), ":")[n]
}

// Turn returns the turn; 0 for no list.
func (l List) Turn() int {
	n, _ := strconv.Atoi(l.part(1))
	return n
}

// IDs returns the servers, sorted.
func (l List) IDs() []string {
	return strings.FieldsFunc(l.part(3), func(r rune) bool { return r == ',' })
}

// Has reports whether a server is in the list.
func (l List) Has(id string) bool { return slices.Contains(l.IDs(), id) }

// Size returns the number of servers.
func (l List) Size() int { return len(l.IDs()) }

func (l List) String() string {
	if n := l.Size(); n > 1 {
		return fmt.Sprintf("a list of %d", n)
	}
	return "a list of one"
}

// leadsTo reports whether a server may go from the list to another one: that has a majority of the list, which remembers it, or was
// made at the same addresses, so that those which are missing have lost their data.
func (l List) leadsTo(other List) bool {
	if where := l.part(2); where != "" && where == other.part(2) {
		return true
	}
	return l.hasMajorityIn(other)
}

// hasMajorityIn reports whether most of its servers are in the other list.
func (l List) hasMajorityIn(other List) bool {
	n := 0
	for _, id := range l.IDs() {
		if other.Has(id) {
			n++
		}
	}
	return 2*n > l.Size()
}

// isNear reports whether the other list has as many servers, of which at most one is another.
func (l List) isNear(other List) bool {
	return l.Size() == other.Size() && len(slices.DeleteFunc(other.IDs(), l.Has)) <= 1
}

// Problem is why the server of an address cannot be used with a list, or why there is no list. It ends by itself. Other errors are those of
// the node.
type Problem string

func (p Problem) Error() string { return string(p) }

func problem(format string, args ...any) Problem { return Problem(fmt.Sprintf(format, args...)) }

// Stuck is a Problem that ends when a person acts.
type Stuck string

func (s Stuck) Error() string { return string(s) }

func stuck(format string, args ...any) Stuck { return Stuck(fmt.Sprintf(format, args...)) }

// Refused returns the problem of a server that refuses a request, because it serves another list, of so many nodes, or none.
func Refused(nodes int64) Problem {
	if nodes == 0 {
		return "it is in no list, new or without its earlier data; waiting until it has joined"
	}
	return problem("it is in another list, of %d: the list of nodes has changed", nodes)
}

// Server is what a server remembers.
type Server struct {
	ID      string // empty: none yet
	Joined  List
	Taken   []List
	InUse   time.Duration // until it counts as unused
	Longest time.Duration // lease known
	Owes    []string      // see list.lua: lists, and elections
}

func (s *Server) isFresh() bool { return s.Joined == "" && len(s.Taken) == 0 }

// serves reports whether the server grants for a list.
func (s *Server) serves(l List) bool { return s.Joined == l && len(s.Taken) == 0 }

// Last returns the last list that the server took, or the one in which it is joined.
func (s *Server) Last() List {
	if len(s.Taken) > 0 {
		return s.Taken[len(s.Taken)-1]
	}
	return s.Joined
}

// remembers returns the lists, the joined one first.
func (s *Server) remembers() []List {
	if s.Joined == "" {
		return s.Taken
	}
	return append([]List{s.Joined}, s.Taken...)
}

func (s *Server) turn() int {
	turn := 0
	for _, l := range s.remembers() {
		turn = max(turn, l.Turn())
	}
	return turn
}

// mayTake returns why the server does not take a list now, or nil. The server itself decides; this says what it will say.
func (s *Server) mayTake(l List) error {
	if s.isFresh() || s.Last() == l {
		return nil
	}
	for _, before := range s.remembers() {
		switch {
		case !before.leadsTo(l):
			return stuck("it remembers %s, of which no majority is among these nodes, and which had other addresses: if no process uses "+
				"that list any more, accept these nodes with redlockctl nodes --join", before)
		case before.Turn() >= l.Turn():
			return problem("it has changed to another list meanwhile, %s", before)
		}
	}
	for _, owed := range s.Owes { // at first the lists
		if before, err := parseList(owed); err == nil && !before.leadsTo(l) {
			return stuck("nobody has led election %q since the list was %s, of which no majority is among these nodes: start a replica that "+
				"leads it with the nodes of the present list, or, if nobody uses it, accept these nodes with redlockctl nodes --join",
				s.owing(), before)
		}
	}
	if s.Joined != "" && s.InUse > 0 {
		return problem("the nodes are in use with %s; waiting until its users have stopped, at most %v after the last",
			s.Joined, s.Longest+time.Second)
	}
	return nil
}

// owing returns the election for which the server owes last.
func (s *Server) owing() (election string) {
	last := "0000000000000"
	for _, owed := range s.Owes {
		if name, since, ok := strings.Cut(owed, "\t"); ok && since > last {
			election, last = strings.TrimPrefix(name, "j:"), since
		}
	}
	return election
}

// owes returns what a server owes that takes or joins a list, by what the servers at some addresses know. Of those which already use the
// list it does not matter what they know and do not owe, but for the server itself.
func owes(list List, heard []Heard, nodes []int, self int) string {
	var lines []string
	for _, i := range nodes {
		s := &heard[i].Server
		if s.Joined != "" && s.Joined != list {
			lines = append(lines, string(s.Joined))
		}
		for _, owed := range s.Owes {
			if self < 0 || self == i || !strings.HasSuffix(owed, "\t0000000000000") {
				lines = append(lines, owed)
			}
		}
	}
	slices.Sort(lines) // so those that owe from now on come first
	lines = slices.CompactFunc(lines, func(a, b string) bool {
		a, _, _ = strings.Cut(a, "\t")
		b, _, _ = strings.Cut(b, "\t")
		return a == b
	})
	if len(lines) == 0 || lines[len(lines)-1][0] != 'j' { // no election
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
