package name_test

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/name"
)

func TestCheck(t *testing.T) {
	for _, good := range []string{
		"a", "nightly report", "münchen/1", "می\u200cخواهم", "👩\u200d🚀", "売上\u3000集計", strings.Repeat("x", name.MaxLen),
	} {
		if err := name.Check("job name", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, rule := range map[string]string{
		"": "empty", strings.Repeat("x", name.MaxLen+1): "201 bytes",
		"a\xff": "UTF-8", "a\nb": "invisible", "a\u0085b": "invisible",
		"invoice\u202exnp": `invisible character '\u202e'`, "a\u2028b": "invisible", "a\u2066b": "invisible",
		"a\n": `job name "a\n" must not contain the invisible character '\n'`, "a\u200bb": `'\u200b'`, "\ufeffa": `'\ufeff'`,
		"a\u00a0b": `'\u00a0'`, "a ": "end with white space", " a": "begin or end", "a\u200d": "begin or end", " ": "begin or end",
	} {
		err := name.Check("job name", bad)
		if err == nil || !strings.Contains(err.Error(), rule) ||
			!strings.HasPrefix(err.Error(), "job name") {
			t.Errorf("%q: got %v, want an error about %q that begins with the field", bad, err, rule)
		}
	}
}

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

func TestCheckText_HasNothingThatEndsALine(t *testing.T) {
	for text, want := range map[string]bool{"INC-7: wait\u00a0for Ann ": true, "a\nb": false, "a\u202eb": false, "": false} {
		if err := name.CheckText("reason", text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
