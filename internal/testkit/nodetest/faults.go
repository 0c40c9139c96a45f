package nodetest

import (
	"cmp"
	"time"
)

// Faults breaks the links to nodes. Every method takes node indexes; no index means all nodes. A fault
// takes effect at once. Faults add up until Heal.
type Faults struct {
	cluster *Cluster
	of      []fault // by node; guarded by Cluster.mu
}

// fault is the faults of one node, or of one process's link to it.
type fault struct {
	dead, cut, hung, deaf bool
	delay                 time.Duration
	answer                string
}

// Cut makes the nodes look like a dead host or a closed port: open connections break, data in transit
// is lost, and dials are refused at once. The nodes themselves keep running.
func (f *Faults) Cut(nodes ...int) {
	f.set(nodes, func(f *fault) { f.cut = true })
}

// Hang makes the nodes silent, like SIGSTOP or a network that drops packets: dials and writes succeed,
// but nothing arrives. On Heal, everything that was written meanwhile arrives, in both directions, even
// requests on connections that their client has closed since.
func (f *Faults) Hang(nodes ...int) {
	f.set(nodes, func(f *fault) { f.hung = true })
}

// Delay makes bytes take d in each direction, so that a reply takes 2d. Bytes stay in order. A dial
// takes no time. A delay set on the Cluster and one set on a Links add up.
func (f *Faults) Delay(d time.Duration, nodes ...int) {
	f.set(nodes, func(f *fault) { f.delay = d })
}

// DropReplies lets requests reach the node and take effect, but when the reply would arrive, the
// connection breaks instead. Replies to setup commands (HELLO, AUTH, SELECT, CLIENT, ROLE, CONFIG,
// INFO) still arrive, so that requests on new connections reach the node too. SUBSCRIBE is not a setup
// command: its confirmation and each message break the connection instead of arriving.
func (f *Faults) DropReplies(nodes ...int) {
	f.set(nodes, func(f *fault) { f.deaf = true })
}

// Answer makes the nodes answer each request with text, an error line such as "LOADING Redis is loading
// the dataset in memory", and do nothing else. Setup commands (see DropReplies) still work. Earlier
// subscriptions stay and get their messages. Real servers make more exceptions, which differ from error
// to error. If both the Cluster and the Links have an Answer, that of the Links counts.
func (f *Faults) Answer(text string, nodes ...int) {
	f.set(nodes, func(f *fault) { f.answer = text })
}

// Heal ends all faults set here.
func (f *Faults) Heal(nodes ...int) {
	f.set(nodes, func(f *fault) { *f = fault{dead: f.dead} })
}

// set changes the fault of the given nodes and wakes every connection, so that it sees the change.
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

// with joins the fault of one process's link to a node and that of the node.
func (f fault) with(g fault) fault {
	return fault{
		dead: f.dead || g.dead, cut: f.cut || g.cut, hung: f.hung || g.hung, deaf: f.deaf || g.deaf,
		delay: f.delay + g.delay, answer: cmp.Or(f.answer, g.answer),
	}
}

func (f fault) refuses() bool { return f.dead || f.cut }
