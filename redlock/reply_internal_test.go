package redlock

import (
	"fmt"
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// A node that says that a lock is held for longer than a record can store, or for a negative time, has a problem with
// that lock only, and has done nothing.
func TestReadReply_HoldThatNoRecordHas(t *testing.T) {
	for left, believed := range map[int64]bool{
		-1: false, 1: true, longestHold.Milliseconds(): true, longestHold.Milliseconds() + 1: false,
		1 << 62: false,
	} {
		for _, code := range []string{"h", "u"} {
			r, err := quorum.ParseReply([]any{fmt.Sprintf("1700000000 250 0123456789ab %s%d", code, left), "id:1:text"})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := readReply(&r); (err == nil) != believed || err != nil && !isRefusal(err) || got.held != believed {
				t.Errorf("%s%d: got %+v, %v", code, left, got, err)
			}
		}
	}
}

// A negative fencing number does not fit the record's fixed width.
func TestReadReply_NothingCountsBelowZero(t *testing.T) {
	for _, item := range []string{"y-5", "y5/-1", "y-9223372036854775808", "h-1", "h5/-1", "q-1", "g-1/5", "l-1", "n-1"} {
		r, err := quorum.ParseReply([]any{"1700000000 250 0123456789abcde " + item, "id:1:text"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readReply(&r); err == nil {
			t.Errorf("%s is %+v", item, got)
		}
	}
}
