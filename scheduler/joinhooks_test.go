package scheduler_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/joined"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestJoinHooks_CallsAllInOrder(t *testing.T) { joined.Check(t, scheduler.JoinHooks) }
