// Package plain makes untrusted texts safe to print.
package plain

import (
	"strings"
	"unicode"
)

// IsUnsafe reports whether a terminal acts on a character or displays the following text in another order. That
// includes control characters (C0, C1), format characters (Cf, which has the bidirectional controls), and line and
// paragraph separators.
func IsUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// IsInvisible reports whether readers cannot see a character: those of IsUnsafe and all white space.
func IsInvisible(r rune) bool { return IsUnsafe(r) || unicode.IsSpace(r) }

// Text returns the text with a question mark for each character that a terminal obeys and for each byte that is not
// UTF-8.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if IsUnsafe(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
}
