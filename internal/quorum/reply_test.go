package quorum_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// A node may answer anything. Parsing items and texts always ends, and never panics.
func FuzzParseReply(f *testing.F) {
	f.Add("1700000000 250 0123456789abcde y17/3 h250 n", "text", int64(1))
	f.Add("- - -", "", int64(-1))
	f.Add("99999999999999999999 1 x y-9223372036854775808/9223372036854775807", "x", int64(0))
	f.Fuzz(func(t *testing.T, line, text string, number int64) {
		for _, raw := range []any{
			line, []any{line}, []any{line, text}, []any{number, line, text}, []any{line, number}, []any{nil}, []any{[]any{line}}, number, nil,
		} {
			r, err := quorum.ParseReply(raw)
			if err != nil {
				continue
			}
			items := 0
			for r.More() {
				if _, _, _, err := r.Item(); err != nil {
					break
				}
				if items++; items > len(line) {
					t.Fatalf("%d items of %q", items, line)
				}
			}
			texts := 0
			for ; ; texts++ {
				if _, err := r.Text(); err != nil {
					break
				}
			}
			if texts > 2 {
				t.Errorf("%d texts of %v", texts, raw)
			}
		}
	})
}

func TestParseReply_RefusesTimesThatNoClockHas(t *testing.T) {
	for raw, want := range map[string]int64{
		"1700000000 250 n": 1_700_000_000_000_250, "0 0": 0, "9007199253 999999": 9_007_199_253_999_999,
		"9007199254 0": -1, "9223372036854775807 0": -1, "-1 0": -1, "1 -1": -1, "1 1000000": -1,
	} {
		if r, err := quorum.ParseReply(raw); err == nil != (want >= 0) || err == nil && r.Time != want {
			t.Errorf("%q: %d, %v", raw, r.Time, err)
		}
	}
	for first, want := range map[int64]bool{0: true, 1<<53 - 1: true, 1 << 53: false, -1: false} {
		if r, err := quorum.ParseReply([]any{first}); err == nil != want || err == nil && r.Time != first {
			t.Errorf("%d: %d, %v", first, r.Time, err)
		}
	}
}
