package otelredlock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// answer is an error reply of a server.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var _ redis.Error = answer("")

func TestErrorType_IsOneOfFew(t *testing.T) {
	for want, err := range map[string]error{
		"lost":      fmt.Errorf("extend: %w", errors.Join(redlock.ErrLost, redlock.ErrNoQuorum)),
		"config":    redlock.ErrConfig,
		"no_quorum": fmt.Errorf("%w: %w", redlock.ErrNoQuorum, context.DeadlineExceeded),
		"NOAUTH":    answer("NOAUTH Authentication required."),
		"timeout":   fmt.Errorf("read: %w", os.ErrDeadlineExceeded),
		"network":   &net.OpError{Op: "dial", Err: errors.New("refused")},
		"_OTHER":    answer("something that is new"),
	} {
		tel := newTelemetry(t)
		tel.LockHooks().NodeError("r1:6379", "extend", err)
		tel.want(t, map[string]float64{
			"redlock.node.errors{error.type=" + want + ",redlock.operation=extend,server.address=r1:6379}": 1,
		})
	}
	tel := newTelemetry(t)
	tel.LockHooks().NodeError("r1:6379", "extend", io.EOF)
	tel.want(t, map[string]float64{
		"redlock.node.errors{error.type=network,redlock.operation=extend,server.address=r1:6379}": 1,
	})
}
