package redlock

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// SweepAfter is the number of grants between two sweeps of a node.
const SweepAfter = sweepAfter

// SendsAcquire and SendsRepair report whether a command runs that script.
var (
	SendsAcquire = sends(source("acquire"))
	SendsRepair  = sends(source("repair"))
)

func sends(script string) func(cmd redis.Cmder) bool {
	sum := sha1.Sum([]byte(script))
	hash := hex.EncodeToString(sum[:])
	return func(cmd redis.Cmder) bool {
		args := cmd.Args()
		if len(args) < 2 {
			return false
		}
		text := fmt.Sprint(args[1])
		return text == hash || text == script
	}
}

// Order returns the order in which nodes are asked.
func (l *Locker) Order(name string) []int { return order(l.quorum, name) }

// These options are for this library's own packages: see [inside.Campaign].
func WithClock(c *clock.Clock) Option { return withClock(c) }

func WithHeadStart(d time.Duration) AcquireOption { return func(r *request) { r.headStart = d } }

func WithBackoff(shortest, longest time.Duration) AcquireOption {
	return campaigning(inside.Campaign{Backoff: retry.Backoff{Min: shortest, Max: longest}})
}

func WithAttempts(fn func(took time.Duration, err error)) AcquireOption {
	return campaigning(inside.Campaign{Attempted: fn})
}
