package conformance

import "testing"

// Case is one sentence about the lock, and the check of it.
type Case struct {
	Name  string // a sentence
	Run   func(t *testing.T, w *World)
	Sizes []int // numbers of nodes to run it on; 3 if empty
	Own   bool  // it breaks nodes or counts their requests, so no other case may use them meanwhile

	// Why it cannot run on the other kind of nodes, if so.
	InMemoryOnly, OnServersOnly string
}

// Each calls run with every number of nodes that the case is for.
func (c Case) Each(run func(nodes int)) {
	if len(c.Sizes) == 0 {
		run(3)
	}
	for _, n := range c.Sizes {
		run(n)
	}
}

// Cases returns the table, in the order from what is simple to what is broken.
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

// Run runs a case on nodes that have been in use for long.
func Run(t *testing.T, c Case, w *World) {
	t.Helper()
	w.age(t, TTL)
	c.Run(t, w)
}
