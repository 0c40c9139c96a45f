package redlock

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// A fencing number below zero has more digits than a record has places for.
func TestReadGrant_NothingCountsBelowZero(t *testing.T) {
	for _, item := range []string{"y-5", "y5/-1", "y-9223372036854775808", "h-1", "h5/-1", "q-1", "g-1/5", "l-1", "n-1"} {
		r, err := quorum.ParseReply([]any{"1700000000 250 0123456789abcde " + item, "id:1:text"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readGrant(&r); err == nil {
			t.Errorf("%s is %+v", item, got)
		}
	}
}
