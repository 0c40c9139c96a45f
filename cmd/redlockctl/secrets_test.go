package main

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/testkit/secret"
)

// Wherever a password was typed, nothing that a command writes has a part of it.
func TestErrors_NeverShowAPasswordInAnyPlace(t *testing.T) {
	secret.Check(t, func(r *rapid.T, s secret.Mistyped) {
		var out bytes.Buffer
		// Two nodes are refused whatever the URL is.
		code := execute(t.Context(), []string{"--nodes", "127.0.0.1:1," + s.URL, "--timeout", "1ms", "lock", "x"},
			streams{strings.NewReader(""), &out, &out})
		if part := s.In(out.String()); part != "" || code == 0 {
			r.Fatalf("%q: code %d, shows %q: %s", s.URL, code, part, out.String())
		}
	})
}
