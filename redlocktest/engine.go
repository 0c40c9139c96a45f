package redlocktest

import "github.com/redlockfx/redlockfx/internal/testkit/nodetest"

// Engine is what the nodes are made of, which shows their data and sets it past every fault. Its type is internal: it
// is for the tests of this module, and no part of what the package promises.
func (n *Nodes) Engine() *nodetest.Cluster { return n.cluster }
