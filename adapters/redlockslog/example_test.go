package redlockslog_test

import (
	"log"
	"log/slog"

	"github.com/redlockfx/redlockfx/adapters/redlockslog"
	"github.com/redlockfx/redlockfx/redlock"
)

func Example() {
	nodes := []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}
	locker, err := redlock.Open(nodes)
	if err != nil {
		log.Fatal(err)
	}
	stop := redlockslog.Nodes(locker, slog.Default())
	defer stop()
}
