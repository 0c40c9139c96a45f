package plain_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/plain"
)

func TestText_HasNothingThatATerminalObeys(t *testing.T) {
	for text, want := range map[string]string{
		"red \x1b[31m\u009b\x7f\tx\u202e\xff ä→":      "red ?[31m???x?? ä→",
		"a\u2066\u200f\U000e0041\u2028\u2029\r\nb 日本": "a???????b 日本",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
