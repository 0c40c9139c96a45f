package ops

import (
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Leader is who leads an election.
type Leader struct {
	ID      string     `json:"id"`
	Value   string     `json:"value,omitempty"`
	Term    uint64     `json:"term"`
	Since   *time.Time `json:"since,omitempty"`   // nil: not known
	Lease   Duration   `json:"lease_ms"`          // the time left
	Expired bool       `json:"expired,omitempty"` // no time is left: it no longer leads, or has renewed the lease since
}

// Node is the state of a node. What is not known of it is missing.
type Node struct {
	Addr    string    `json:"addr"`
	Version string    `json:"version,omitempty"`
	Latency *Duration `json:"latency_ms,omitempty"`
	Guard   *Duration `json:"guard_ms,omitempty"` // for how long it grants nothing
	Offset  *Duration `json:"clock_offset_ms,omitempty"`
	List    string    `json:"list,omitempty"`   // joined, claimed or fresh, number of nodes, turn, and whether most nodes serve no such list
	Err     string    `json:"error,omitempty"`  // why it does not count
	Denied  string    `json:"denied,omitempty"` // rights that the user lacks
}

// NodesOf returns the nodes of a list.
func NodesOf(list []redlock.NodeStatus) []Node {
	own, all := served(list), make([]Node, 0, len(list))
	for _, n := range list {
		shown := nodeOf(n)
		if n.Err == nil && n.List.State == redlock.ListJoined && n.List != own {
			shown.List += ", another list"
		}
		all = append(all, shown)
	}
	return all
}

// served returns the list of as many nodes that a majority of them serves, or the zero list if there is none.
func served(all []redlock.NodeStatus) redlock.NodeList {
	count := make(map[redlock.NodeList]int)
	for _, n := range all {
		l := n.List
		if count[l]++; l.Nodes == len(all) && count[l] > len(all)/2 {
			return l
		}
	}
	return redlock.NodeList{}
}

// nodeOf returns the node of a status.
func nodeOf(n redlock.NodeStatus) Node {
	shown := Node{Addr: n.Addr, Version: n.Version}
	if n.Err != nil {
		shown.Err = n.Err.Error()
	} else {
		latency, guard, offset := Duration(n.Latency), Duration(n.Guard), Duration(n.ClockOffset)
		shown.List = n.List.String()
		shown.Latency, shown.Guard, shown.Offset = &latency, &guard, &offset
	}
	if n.Denied != nil {
		shown.Denied = n.Denied.Error()
	}
	return shown
}

// IsGuarded reports whether the node grants nothing yet.
func (n *Node) IsGuarded() bool { return n.Guard != nil && *n.Guard > 0 }
