package nodetest

import (
	"cmp"
	"time"
)

// Faults breaks the way to nodes. Every method takes node indexes, none meaning all nodes. A fault
// takes effect at once and adds to the others until Heal.
type Faults struct {
	cluster *Cluster
	of      []fault // by node; guarded by Cluster.mu
}

// fault is what ails one node, or one process's way to it.
type fault struct {
	dead, cut, hung, deaf, torn bool
	delay                       time.Duration
	answer                      string
}

// Cut makes the nodes look like a dead host or a closed port: open connections break, what was under
// way on them is lost, and dials are refused at once. The node itself lives on.
func (f *Faults) Cut(nodes ...int) {
	f.set(nodes, func(f *fault) { f.cut = true })
}

// Hang makes the nodes silent, like SIGSTOP or a network that drops packets: dials and writes
// succeed, nothing arrives. On Heal everything written meanwhile arrives late, in both directions,
// also the requests on connections that their client has closed in the meantime.
func (f *Faults) Hang(nodes ...int) {
	f.set(nodes, func(f *fault) { f.hung = true })
}

// Delay makes bytes take d in each direction, so that a reply takes 2d. Their order is kept. A dial
// takes no time. A delay set on the Cluster and one set on a Links add up.
func (f *Faults) Delay(d time.Duration, nodes ...int) {
	f.set(nodes, func(f *fault) { f.delay = d })
}

// DropReplies lets requests reach the node and take effect, but when the reply would arrive, the
// connection breaks instead. Replies to what sets up a connection (HELLO, AUTH, SELECT, CLIENT, ROLE,
// CONFIG, INFO) still arrive, so that requests on new connections reach the node too. SUBSCRIBE is no
// setup: neither its confirmation nor a message arrives, each breaks the connection.
func (f *Faults) DropReplies(nodes ...int) {
	f.set(nodes, func(f *fault) { f.deaf = true })
}

// Tear is DropReplies, but the first half of the reply arrives before the connection breaks. Of a
// reply beyond 4 KiB it is less than half.
func (f *Faults) Tear(nodes ...int) {
	f.set(nodes, func(f *fault) { f.torn = true })
}

// Answer makes the nodes answer text, an error line such as "LOADING Redis is loading the dataset in
// memory", to each request that arrives, and do nothing else, but for what sets up a connection (as
// in DropReplies). Subscriptions made before stay and get their messages. Real servers except more,
// for each error something else. Where the Cluster and the Links have one each, the Links' counts.
func (f *Faults) Answer(text string, nodes ...int) {
	f.set(nodes, func(f *fault) { f.answer = text })
}

// Heal ends all faults set here.
func (f *Faults) Heal(nodes ...int) {
	f.set(nodes, func(f *fault) { *f = fault{dead: f.dead} })
}

// set changes the fault of the given nodes and lets every connection see it.
func (f *Faults) set(nodes []int, change func(*fault)) {
	f.cluster.mu.Lock()
	defer f.cluster.mu.Unlock()
	if len(nodes) == 0 {
		for i := range f.of {
			change(&f.of[i])
		}
	}
	for _, i := range nodes {
		change(&f.of[i])
	}
	for c := range f.cluster.conns {
		if c.fault().refuses() {
			c.broken = true
		}
		c.wake()
	}
}

// with joins the fault of a node and that of one process's way to it.
func (f fault) with(g fault) fault {
	return fault{
		dead: f.dead || g.dead, cut: f.cut || g.cut, hung: f.hung || g.hung, deaf: f.deaf || g.deaf,
		torn: f.torn || g.torn, delay: f.delay + g.delay, answer: cmp.Or(f.answer, g.answer),
	}
}

func (f fault) refuses() bool { return f.dead || f.cut }
