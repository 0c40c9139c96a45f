package jobstore

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Asked has the requests with one verb for a job, on the nodes that have answered.
type Asked struct {
	Job string

	what   Request     // verb and tick
	has    []Setting   // the node's request; zero: it has none
	began  []time.Time // start of the node's incarnation: it has lost earlier requests
	now    time.Time   // by the nodes' clocks
	quorum *quorum.Quorum
}

// soon is how long after a request was made, by any node's clock, it may still be acknowledged. Ask takes half of it at most, as clocks
// differ.
const soon = 10 * time.Second

// Held returns the newest request that a majority may have, and whether a node that has answered lacks it. It returns false if there is
// none. If the nodes' clocks were set back, it may have been made in the future.
//
// It counts the nodes that have a request, or had it before a newer one, those that have not answered, and those that may have lost it.
// written is the ballot under which the job was written. Its leader had asked a majority before. So nodes that may have lost it do not
// count for a request that was acknowledged before that ballot, or never: nobody who writes to one node can make the other nodes support a
// request from before their incarnations.
func (a *Asked) Held(written Ballot) (held Request, isLacking, ok bool) {
	q := a.quorum
	others := q.Size() - len(a.has)
	for _, s := range a.has {
		has, lost := a.count(s, written.Time().Add(-soon))
		if s.IsNewer(held.Mark) && has+lost+others >= q.Majority() && !s.isFar(a.now) {
			held.Setting, isLacking = s, has < len(a.has)
		}
	}
	held.Verb, held.Tick = a.what.Verb, a.what.Tick
	return held, isLacking, held.Version != 0
}

// count returns how many of the nodes have a request, or had it before a newer one, and how many may have lost it.
func (a *Asked) count(s Setting, judged time.Time) (has, lost int) {
	for i, other := range a.has {
		switch {
		case !s.IsNewer(other.Mark):
			has++
		case !s.At().Before(judged) && !s.At().After(a.began[i].Add(Ahead)):
			lost++
		}
	}
	return has, lost
}

// Vain returns the requests that are newer than the one that is held. Too few nodes have them. isUnsure says that one of them was made
// just now, and may be about to reach the others; it is not returned.
func (a *Asked) Vain(held Mark) (vain []Request, isUnsure bool) {
	for _, s := range a.has {
		switch age := a.now.Sub(s.At()); {
		case !s.IsNewer(held):
		case age.Abs() < soon:
			isUnsure = true
		default:
			vain = append(vain, Request{a.what.Verb, a.what.Tick, s})
		}
	}
	return vain, isUnsure
}
