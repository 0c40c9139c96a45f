package conformance

import "testing"

// Case is one statement about the lock, and its check.
type Case struct {
	Name  string // the statement
	Run   func(t *testing.T, w *World)
	Sizes []int // numbers of nodes to run it on; 3 if empty
	Own   bool  // breaks nodes or counts their requests, so no other case may share them

	// Reasons why the case cannot run on the other kind of nodes, if any.
	InMemoryOnly, OnServersOnly string
}

// Each calls run with every number of nodes in Sizes.
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
