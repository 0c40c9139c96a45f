package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
)

func TestParse_ReadsWhatTheScriptWrites(t *testing.T) {
	id := strings.Repeat("a", 40)
	got, err := guard.Parse("2 " + id + " 1700000000000001 1700000010000002 000000010000 003 1700000020003")
	want := guard.State{
		Since: time.UnixMicro(1700000000000001), Until: time.UnixMicro(1700000010000002), Longest: 10 * time.Second, Nodes: 3,
		Used: time.UnixMilli(1700000020003),
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{
		"", "mine", "3 " + id, "2 " + id + " 1700000000000001 1700000010000002 000000010000 003 170000002000x",
		"2 " + id + " 1700000000000001 1700000010000002 000000010000 003 1700000020003 ",
	} {
		if got, err := guard.Parse(text); err == nil || got != (guard.State{}) {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}
