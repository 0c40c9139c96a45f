package guard_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
)

func TestParse_ReadsWhatTheScriptWrites(t *testing.T) {
	id := strings.Repeat("a", 40)
	got, err := guard.Parse("3 " + id + " 1700000000000001 1700000010000002 000000010000 0123456789abcdef 1700000020003")
	want := guard.State{
		Since: time.UnixMicro(1700000000000001), Until: time.UnixMicro(1700000010000002), Longest: 10 * time.Second, Label: "0123456789abcdef",
		Used: time.UnixMilli(1700000020003),
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{
		"", "mine", "3 " + id, "3 " + id + " 1700000000000001 1700000010000002 000000010000 0123456789abcdef 170000002000x",
		"3 " + id + " 1700000000000001 1700000010000002 000000010000 0123456789abcdef 1700000020003 ",
	} {
		if got, err := guard.Parse(text); err == nil || got != (guard.State{}) {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

// Parse handles any text that a node has as its guard.
func FuzzParse(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("3 " + id + " 1700000000000001 1700000010000002 000000010000 0123456789abcdef 1700000020003")
	f.Add("3 " + id + " 9999999999999999 9999999999999999 999999999999 ---------------- 9999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		state, err := guard.Parse(text)
		if err != nil {
			if len(err.Error()) > 200 || strings.ContainsAny(err.Error(), "\r\n\x1b") {
				t.Errorf("%q is refused with %q", text, err)
			}
			return
		}
		if _, err := json.Marshal(state); err != nil || state.Longest < 0 {
			t.Errorf("%q is %+v, %v", text, state, err)
		}
	})
}
