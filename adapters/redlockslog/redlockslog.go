// Package redlockslog logs what a Locker notices about its nodes with log/slog. It is for services that use package
// redlock alone, which has no logger. An election and a scheduler have loggers.
//
//	locker, err := redlock.Open(nodes)
//	stop := redlockslog.Nodes(locker, slog.Default())
//	defer stop()
package redlockslog

import (
	"log/slog"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Nodes logs the events of the nodes until the returned function is called. What needs a person soon is logged at warn:
// nodes that start to fail or have a problem, and clocks that were stepped. A right that the user lacks is logged at error.
// The rest is logged at info.
func Nodes(locker *redlock.Locker, log *slog.Logger) (stop func()) {
	return locker.OnNode(func(e redlock.NodeEvent) {
		log, d := log.With("node", e.Addr), e.Duration.Round(time.Millisecond)
		switch e.Kind {
		case redlock.NodeFails:
			log.Warn("a node fails", "error", e.Err)
		case redlock.NodeWorks:
			log.Info("a node works again", "after", d)
		case redlock.NodeDenies:
			log.Error("a node denies the user a right", "about", e.Op, "error", e.Err)
		case redlock.NodeProblem:
			log.Warn("a node answers, but needs attention", "about", e.Op, "error", e.Err)
		case redlock.NodeGuarded:
			log.Info("a node has started, or lost its data, and grants nothing for a while", "for", d)
		case redlock.NodeGrants:
			log.Info("a node grants locks again")
		case redlock.NodeChanged:
			log.Info("a node has another identity, and grants nothing for a while", "reason", e.Err)
		case redlock.NodeRepaired:
			log.Info("a node had lost a lock, and has it again", "lock", e.Lock)
		case redlock.NodeStepped:
			log.Warn("the clock of a node was stepped, its votes may not count for some time", "by", d)
		}
	})
}
