package redlock

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// maxServers bounds how many servers of one address are remembered.
const maxServers = 100

// address is what is known about the servers to which a node's address leads. A server has another identity after a restart or a
// promotion, and never an earlier one. So one that answers again after another one shows that there are several.
type address struct {
	servers []server // that have answered, the latest one first
	several string   // the runs of two, until one server alone has answered for the longest TTL; empty: there is one server
}

type server struct {
	identity uint64
	run      string
	since    time.Time // when its first answer after that of another server was received
}

// see notes which server has answered, and reports whether it is another one than the latest.
func (a *address) see(s server, sent time.Time, longest time.Duration) (another bool) {
	i := slices.IndexFunc(a.servers, func(known server) bool { return known.identity == s.identity })
	switch {
	case i == 0:
		if sent.Sub(a.servers[0].since) >= longest {
			a.servers, a.several = a.servers[:1], ""
		}
		return false
	case i > 0 && sent.Before(a.servers[0].since):
		return false // the answer was under way when the server was replaced
	case i > 0:
		a.several = cmp.Or(a.several, fmt.Sprintf("run %.8s, run %.8s", a.servers[0].run, s.run))
		a.servers = slices.Delete(a.servers, i, i+1)
	}
	a.servers = slices.Insert(a.servers, 0, s)
	a.servers = a.servers[:min(len(a.servers), maxServers)]
	return len(a.servers) > 1
}

// looked notes the answer to an inspection, and reports whether another server has answered than the latest. Replicas, which grant
// nothing, and servers whose identity is not known do not count.
func (o *observed) looked(node int, a quorum.Answer[inspection]) (another bool) {
	if a.Err != nil || a.Identity == 0 || a.Value.role == "slave" {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := server{a.Identity, a.Value.runID, a.Received}
	return o.nodes[node].address.see(s, a.Received.Add(-a.Took), o.longestLocked())
}

// several returns an error if the address of a node leads to several servers.
func (o *observed) several(node int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	runs := o.nodes[node].address.several
	if runs == "" {
		return nil
	}
	return fmt.Errorf("its address leads to several servers (%s); name each one: it does not count until one of them alone has "+
		"answered for %v", runs, o.longestLocked())
}
