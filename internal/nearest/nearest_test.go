package nearest_test

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/nearest"
)

func TestNames(t *testing.T) {
	all := []string{"history", "jobs", "leader", "nightly", "nightly-report", "invoices", "heartbeat", "a", "Übersicht"}
	for text, want := range map[string]string{
		"histroy": "history", "lader": "leader", "nigthly": "nightly", "NIGHTLY": "nightly,nightly-report", "report": "nightly-report",
		"invoice": "invoices", "übersicht": "Übersicht", "zzz": "", "": "", "jobs": "", "heart": "heartbeat",
		strings.Repeat("x", 300): "",
	} {
		if got := strings.Join(nearest.Names(text, all), ","); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := nearest.Names("aab", []string{"aaa", "aac", "aad", "aae"}); len(got) != 3 {
		t.Errorf("got %q, want three", got)
	}
	for want, names := range map[string][]string{
		"": nil, `did you mean "a"?`: {"a"}, `did you mean "a" or "b"?`: {"a", "b"}, `did you mean "a", "b" or "c"?`: {"a", "b", "c"},
	} {
		if got := nearest.Question(names); got != want {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
}
