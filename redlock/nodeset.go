package redlock

import "sync/atomic"

// mostNodes is how many nodes a Locker can have, limited by nodeSet.
const mostNodes = 64

// nodeSet is a set of nodes, by their index in the list.
type nodeSet uint64

func (s nodeSet) has(node int) bool { return s>>node&1 == 1 }

func (s nodeSet) with(node int) nodeSet { return s | 1<<node }

// growingSet is a nodeSet that several goroutines may add to.
type growingSet struct{ nodes atomic.Uint64 }

func (s *growingSet) load() nodeSet { return nodeSet(s.nodes.Load()) }

func (s *growingSet) add(more nodeSet) {
	if s.load()|more != s.load() {
		s.nodes.Or(uint64(more))
	}
}
