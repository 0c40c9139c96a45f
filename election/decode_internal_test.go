package election

import (
	"encoding/json"
	"testing"

	"github.com/redlockfx/redlockfx/redlock"
)

// Whatever the lock of an election says of its holder is decoded, and can be encoded as JSON.
func FuzzLeader(f *testing.F) {
	f.Add("pod-1 1700000000000 http://pod-1:8080")
	f.Add("%zz 253402300800000 ")
	f.Add("a -9223372036854775808")
	f.Fuzz(func(t *testing.T, value string) {
		l := leaderOf(redlock.Holder{Value: value})
		if _, err := json.Marshal(l); err != nil || len(l.ID)+len(l.Value) > len(value) {
			t.Errorf("%q is %+v: %v", value, l, err)
		}
	})
}
