package lists

import (
	"cmp"
	"slices"
	"strings"
)

// Heard is the answer of an address.
type Heard struct {
	Err error // why there is none
	Server
}

// Plan is what a process does next.
type Plan struct {
	Use   List // the list that the process uses from now on
	Verb  verb // for Nodes; none: nothing can be done now
	List  List
	From  List   // of a swap
	Owes  string // of who takes or joins the list
	Nodes []int
	// Problems has for each address why the server cannot be used with the list, or there is no list.
	Problems []error
}

type verb string

const (
	enter verb = "enter"
	take  verb = "take"
	join  verb = "join"
	swap  verb = "swap"
	force verb = "force"
)

const (
	errWaits = Problem("waiting until all nodes of the list can join it")
	errAll   = Problem("it waits for its list: all nodes must be heard once, when they are new or their list changes")
	errNew   = Problem("it is new, or its data were lost: all nodes must be heard before it replaces the lost one in their list")
)

// next returns what a process with these addresses that uses a list, or none, does next, by what each address has answered.
func next(where string, used List, heard []Heard) Plan {
	p := planning{where: where, used: used, heard: slices.Clone(heard), Plan: Plan{Problems: make([]error, len(heard))}}
	for i := range p.heard {
		for j := range i {
			if h := &p.heard[i]; h.Err == nil && h.ID != "" && p.heard[j].Err == nil && h.ID == p.heard[j].ID {
				h.Err = &TwinError{j}
			}
		}
		p.Problems[i] = p.heard[i].Err
	}
	if p.Use = used; used != "" && p.isOver() {
		p.Use = ""
	}
	if p.Use == "" {
		p.adopt()
	}
	if p.Use == "" {
		p.make()
		return p.Plan
	}
	p.mend()
	if p.Verb == "" && p.isUnserved() {
		return next(where, "", heard) // as a new process, which would not use that list
	}
	return p.Plan
}

// TwinError says that an address leads to the same server as an earlier one.
type TwinError struct{ Of int }

func (*TwinError) Error() string { return "it is the same server as another node" }

type planning struct {
	Plan
	where string
	used  List
	heard []Heard
}

// those returns the addresses that lead to servers which are so.
func (p *planning) those(are func(s *Server) bool) (nodes []int) {
	for i := range p.heard {
		if h := &p.heard[i]; h.Err == nil && are(&h.Server) {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// all returns the addresses that answer.
func (p *planning) all() []int { return p.those(func(*Server) bool { return true }) }

// serving returns the addresses that lead to servers which serve a list.
func (p *planning) serving(l List) []int { return p.those(func(s *Server) bool { return s.serves(l) }) }

func majority(n int) int { return n/2 + 1 }

// isOver reports whether the list in use was replaced, or too much of it was lost.
func (p *planning) isOver() bool {
	turned := p.those(func(s *Server) bool {
		known := p.used.Has(s.ID) // turns start again when all data are lost
		return s.Joined != "" && s.Joined != p.used && (!known || s.Joined.Turn() > p.used.Turn())
	})
	in := p.those(func(s *Server) bool { return p.used.Has(s.ID) })
	all := p.all()
	need := majority(p.used.Size())
	return len(turned) >= need || len(all) == len(p.heard) && len(in) < need
}

// isUnserved reports whether all addresses answer, and no majority of them serves the list in use, as when the nodes got data back from
// before they joined it.
func (p *planning) isUnserved() bool {
	return len(p.all()) == len(p.heard) && len(p.serving(p.Use)) < majority(len(p.heard))
}

// adopt uses a list if a majority of it serves it, and no other server is heard: otherwise these addresses are not that list. A server
// that has lost its data does not matter if the list was made at these addresses, or replaced the one in use.
func (p *planning) adopt() {
	for i := range p.heard {
		l := p.heard[i].Joined
		if p.heard[i].Err != nil || l == "" || l.Size() != len(p.heard) {
			continue
		}
		serving := p.serving(l)
		mine := p.used.isNear(l) || p.where != "" && l.part(2) == p.where // so a fresh server is one of it that has lost its data
		others := p.those(func(s *Server) bool { return !l.Has(s.ID) && (s.Joined != "" || !mine) })
		if len(serving) >= majority(l.Size()) && len(others) == 0 {
			p.Use = l
			return
		}
	}
}

// mend has servers of the list join it again, and a fresh server replace a lost one.
func (p *planning) mend() {
	l := p.Use
	serving := p.serving(l)
	others := p.those(func(s *Server) bool { return !l.Has(s.ID) })
	later := p.those(func(s *Server) bool { return l.Has(s.ID) && s.turn() > l.Turn() })
	if len(later) > 0 && len(others) == 0 && len(serving) > 0 {
		// They went to a list that has not come to be, and go to none that is older than that one.
		p.ask(swap, p.of(l.IDs()), serving...)
		p.From = l
		return
	}
	for _, i := range p.those(func(s *Server) bool { return l.Has(s.ID) && !s.serves(l) }) {
		s := &p.heard[i].Server
		p.Owes = owes(l, p.heard, append(serving, i), i)
		switch err := s.mayTake(l); {
		case len(s.Taken) == 0 && s.Joined.isNear(l) && s.Joined.Turn() < l.Turn():
			p.ask(swap, l, i) // a majority has swapped without it
			p.From = s.Joined
			return
		case p.isOlder(s):
			p.ask(enter, "", i)
			return
		case err != nil:
			p.Problems[i] = err
		case s.Last() != l:
			p.ask(take, l, i)
			return
		case len(serving) >= majority(l.Size()):
			p.ask(join, l, i)
			return
		default:
			p.Problems[i] = errWaits
		}
	}
	if len(others) > 0 {
		p.replace(others)
	}
}

// isOlder reports whether a server is joined in an earlier list of the same addresses, as one that was away for long, or got older data
// back. Nobody needs that list: its addresses are those of a majority that serves the list in use. So the server may enter again, as one
// that has lost its data.
func (p *planning) isOlder(s *Server) bool {
	where := p.Use.part(2)
	return s.Joined != "" && where != "" && s.Joined.part(2) == where && s.turn() < p.Use.Turn() && len(s.Taken) == 0 &&
		len(p.serving(p.Use)) >= majority(p.Use.Size())
}

// replace puts servers that are fresh in the place of those to which no address leads, one after the other.
func (p *planning) replace(others []int) {
	l := p.Use
	missing := l.IDs()
	var rest, nameless []int
	for i := range p.heard {
		h := &p.heard[i]
		if h.Err == nil && l.Has(h.ID) {
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == h.ID })
			rest = append(rest, i)
		} else if h.Err == nil && (h.ID == "" || p.isOlder(&h.Server)) {
			nameless = append(nameless, i)
		}
	}
	foreign := p.those(func(s *Server) bool { return !l.Has(s.ID) && s.Joined != "" && !p.isOlder(s) })
	for _, i := range foreign {
		p.Problems[i] = stuck("it is in use with another list, %s", p.heard[i].Joined)
	}
	switch {
	case len(foreign) > 0:
		return
	case len(rest)+len(others) < len(p.heard): // it is not known who is missing
		for _, i := range others {
			p.Problems[i] = errNew
		}
		return
	case len(nameless) > 0:
		p.ask(enter, "", nameless...)
		return
	}
	// All processes choose the same, unless one of them has begun.
	next, c := List(""), slices.MinFunc(others, func(a, b int) int { return cmp.Compare(p.heard[a].ID, p.heard[b].ID) })
	for _, i := range others {
		if t := p.heard[i].Last(); t.Turn() > l.Turn() && slices.ContainsFunc(missing, func(id string) bool {
			return slices.Equal(t.IDs(), l.with(p.heard[i].ID, id))
		}) {
			next, c = t, i
		}
	}
	if next == "" {
		next = p.of(l.with(p.heard[c].ID, missing[0]))
		if p.Problems[c] = p.heard[c].mayTake(next); p.Problems[c] == nil {
			p.ask(take, next, c)
			p.Owes = owes(l, p.heard, append(rest, c), c)
		}
		return
	}
	for _, i := range rest {
		if p.heard[i].serves(l) {
			p.Nodes = append(p.Nodes, i)
		}
	}
	p.Verb, p.List, p.From = swap, next, l
	if len(p.Nodes) == 0 {
		p.Verb = ""
		p.Problems[c] = errWaits
	}
}

// with returns the servers of the list with one in the place of another one, sorted.
func (l List) with(one, missing string) []string {
	return slices.Sorted(slices.Values(append(slices.DeleteFunc(l.IDs(), func(id string) bool { return id == missing }), one)))
}

// of returns a list of these ids, sorted: the one that somebody has begun, if it is later than all others, or a new one.
func (p *planning) of(ids []string) List {
	turn := 0
	var latest []List
	for i := range p.heard {
		for _, l := range p.heard[i].remembers() {
			if l.Turn() > turn {
				turn, latest = l.Turn(), nil
			}
			if l.Turn() == turn {
				latest = append(latest, l)
			}
		}
	}
	if latest = slices.Compact(slices.Sorted(slices.Values(latest))); len(latest) == 1 && slices.Equal(latest[0].IDs(), ids) {
		return latest[0]
	}
	return newList(turn+1, p.where, ids)
}

// make makes a list of all servers.
func (p *planning) make() {
	all := p.all()
	if len(all) < len(p.heard) {
		for _, i := range all {
			p.Problems[i] = errAll
		}
		return
	}
	if fresh := p.those(func(s *Server) bool { return s.ID == "" }); len(fresh) > 0 {
		p.ask(enter, "", fresh...)
		return
	}
	var ids []string
	for i := range p.heard {
		ids = append(ids, p.heard[i].ID)
	}
	slices.Sort(ids)
	next := p.of(ids)
	p.Owes = owes(next, p.heard, all, -1)
	open := p.those(func(s *Server) bool { return s.Last() != next })
	if len(open) == 0 {
		p.ask(join, next, p.those(func(s *Server) bool { return !s.serves(next) })...)
		return
	}
	if isKnown(p.Owes, next) {
		p.Owes += "new\n"
	}
	refused := false
	for _, i := range open {
		p.Problems[i] = p.heard[i].mayTake(next)
		refused = refused || p.Problems[i] != nil
	}
	if refused {
		for i := range p.Problems {
			if p.Problems[i] == nil {
				p.Problems[i] = errWaits
			}
		}
		return
	}
	if free := p.those(func(s *Server) bool { return s.isFresh() }); len(free) > 0 {
		p.ask(take, next, free...) // first: if one fails, the list in use goes on
		return
	}
	p.ask(take, next, open[0]) // one after the other, for the same reason
}

// isKnown reports whether the servers of a list together know what was decided in each of the lists that are owed to: so those which are
// fresh have nothing to lose.
func isKnown(owes string, list List) bool {
	known := false
	for line := range strings.Lines(owes) {
		if before, err := parseList(strings.TrimSpace(line)); err == nil {
			if known = before.hasMajorityIn(list); !known {
				return false
			}
		}
	}
	return known
}

func (p *planning) ask(v verb, l List, nodes ...int) { p.Verb, p.List, p.Nodes = v, l, nodes }
