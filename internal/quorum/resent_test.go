package quorum_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// A request sent before the connection broke may have been executed, or may still be.
func TestNode_WhatIsSentTwiceSaysSo(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.DropReplies(0)
		a, err := askNode(t, q, counting())
		if err != nil || a.Err == nil || !a.Resent {
			t.Errorf("without a reply: %+v, %v, want an error, and that it was sent again", a, err)
		}
		c.Heal()
		a, err = askNode(t, q, counting())
		if err != nil || a.Err != nil || a.Value != 4 || a.Resent {
			t.Errorf("then %+v, %v, want the fourth count, sent once", a, err)
		}
	})
}
