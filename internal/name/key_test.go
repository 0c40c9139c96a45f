package name_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/name"
)

func TestKey_OfEachElectionIsItsOwn(t *testing.T) {
	seen := make(map[string]string)
	for election, want := range map[string]string{
		"billing": "{app}:terms:billing", "a:b": "{app}:terms:a%3Ab", "a%3Ab": "{app}:terms:a%253Ab", "a b": "{app}:terms:a b",
	} {
		key := name.Key("app", "terms", election)
		if key != want {
			t.Errorf("the key of %q is %q, want %q", election, key, want)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q share %q", election, other, key)
		}
		seen[key] = election
	}
}
