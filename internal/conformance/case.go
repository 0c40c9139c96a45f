package conformance

import "testing"

// Case is one statement about the lock, and its check.
type Case struct {
	Name  string // the statement
	Run   func(t *testing.T, w *World)
	Sizes []int // numbers of nodes to run it on in memory; 3 if empty
	Own   bool  // breaks nodes or counts their requests, so no other case may share them

	// Server is what only a server can decide. A case without it runs in memory alone.
	Server string
	// OnServersOnly is why the case cannot run in memory, if it cannot.
	OnServersOnly string
}

// What in-memory nodes only imitate.
const (
	clocks   = "the clock of a server runs beside that of its clients"
	restarts = "a server that restarts has another identity and, perhaps, other data"
	network  = "a connection over TCP hangs, breaks and is slow in its own way"
	replies  = "the server chooses the words of its errors, and when it keeps a script"
	language = "the server has its own Lua, and its own types of values"
)

// Each calls run with every number of nodes in Sizes. Servers decide nothing that depends on the number.
func (c Case) Each(run func(nodes int)) {
	if len(c.Sizes) == 0 {
		run(3)
	}
	for _, n := range c.Sizes {
		run(n)
	}
}

// Cases returns all cases, from simple ones to those with broken nodes.
func Cases() []Case {
	var all []Case
	for _, some := range [][]Case{
		optionCases, lifecycleCases, endCases, contentionCases, waitingCases, inputCases,
		faultCases, settlingCases, lossCases, renewalCases, guardCases, fenceCases, clockCases,
		foreignCases, scriptCases, serverCases,
	} {
		all = append(all, some...)
	}
	return all
}

// Run runs a case on nodes that are no longer new.
func Run(t *testing.T, c Case, w *World) {
	t.Helper()
	w.age(t, TTL)
	c.Run(t, w)
}
