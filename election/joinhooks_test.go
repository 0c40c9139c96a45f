package election_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/joined"
)

func TestJoinHooks_CallsAllInOrder(t *testing.T) { joined.Check(t, election.JoinHooks) }
