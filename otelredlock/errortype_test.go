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

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/redlock"
)

// answer is an error reply of a server.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var _ redis.Error = answer("")

func TestErrorType_IsOneOfFew(t *testing.T) {
	for err, want := range map[error]string{
		fmt.Errorf("extend: %w", errors.Join(redlock.ErrLost, redlock.ErrNoQuorum)): "lost",
		redlock.ErrConfig: "config",
		fmt.Errorf("%w: %w", redlock.ErrNoQuorum, context.DeadlineExceeded): "no_quorum",
		answer("NOAUTH Authentication required."):                           "NOAUTH",
		fmt.Errorf("read: %w", os.ErrDeadlineExceeded):                      "timeout",
		&net.OpError{Op: "dial", Err: errors.New("refused")}:                "network",
		fmt.Errorf("%w: %w", quorum.ErrUnsent, os.ErrDeadlineExceeded):      "not_sent",
		fmt.Errorf("%w: %w", quorum.ErrPerhapsDone, os.ErrDeadlineExceeded): "perhaps_done",
		fmt.Errorf("%w: %w", quorum.ErrUnsent, answer("WRONGPASS")):         "WRONGPASS",
		io.EOF:                          "network",
		answer("something that is new"): "_OTHER",
	} {
		tel := newTelemetry(t)
		tel.Node(redlock.NodeEvent{Kind: redlock.NodeFails, Addr: "r1:6379", Op: "extend", Err: err})
		tel.want(t, map[string]float64{
			"redlock.node.errors{error.type=" + want + ",redlock.operation=extend,server.address=r1:6379}": 1,
		})
	}
}
