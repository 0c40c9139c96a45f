package redlock_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/joined"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestJoinHooks_CallsAllInOrder(t *testing.T) { joined.Check(t, redlock.JoinHooks) }
