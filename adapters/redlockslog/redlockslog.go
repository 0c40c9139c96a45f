// Package redlockslog logs what a Locker observes with log/slog. It is for services that use package redlock alone,
// which has hooks but no logger. An election and a scheduler have loggers, which log the same and more.
//
//	locker, err := redlock.Open(nodes, redlock.WithHooks(redlockslog.Hooks(slog.Default())))
//	stop := redlockslog.Nodes(locker, slog.Default())
//	defer stop()
package redlockslog

import (
	"log/slog"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Hooks returns hooks that log, at info, nodes that grant nothing because they have restarted, nodes that grant
// again, and locks that a node had lost and has again. At warn they log node clocks that were stepped. For nodes that
// fail see [Nodes]. Use [redlock.JoinHooks] to add your own hooks.
func Hooks(log *slog.Logger) redlock.Hooks {
	return redlock.Hooks{
		Guarded: func(node string, left time.Duration) {
			if left <= 0 {
				log.Info("a node grants locks again", "node", node)
				return
			}
			log.Info("a node has started, or lost its data, and grants nothing for a while", "node", node, "for", left)
		},
		Repaired: func(node, name string) {
			log.Info("a node had lost a lock, and has it again", "node", node, "lock", name)
		},
		ClockJump: func(node string, by time.Duration) {
			log.Warn("the clock of a node was stepped, its votes do not count for the longest TTL", "node", node, "by", by.Round(time.Millisecond))
		},
	}
}

// Nodes logs each node that starts to fail, at warn, and each that works again, at info. It does so until the
// returned function is called.
func Nodes(locker *redlock.Locker, log *slog.Logger) (stop func()) {
	since := make(map[string]time.Time) // needs no lock: calls come one at a time
	return locker.OnNode(func(node string, err error) {
		if err != nil {
			since[node] = time.Now()
			log.Warn("a node fails", "node", node, "error", err)
			return
		}
		log.Info("a node works again", "node", node, "after", time.Since(since[node]).Round(time.Millisecond))
	})
}
