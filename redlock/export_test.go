package redlock

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// SweepAfter is the number of grants between two sweeps of a node.
const SweepAfter = sweepAfter

// SendsAcquire and SendsRepair report whether a command runs that script.
var (
	SendsAcquire = sends(include(acquireSource))
	SendsRepair  = sends(include(repairSource))
)

func sends(source string) func(cmd redis.Cmder) bool {
	sum := sha1.Sum([]byte(source))
	hash := hex.EncodeToString(sum[:])
	return func(cmd redis.Cmder) bool {
		args := cmd.Args()
		if len(args) < 2 {
			return false
		}
		text := fmt.Sprint(args[1])
		return text == hash || text == source
	}
}

// Order returns the order in which nodes are asked.
func (l *Locker) Order(name string) []int { return l.order(name) }
