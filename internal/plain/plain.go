// Package plain makes texts safe to print that somebody else has chosen.
package plain

import (
	"strings"
	"unicode"
)

// IsObeyed reports whether a terminal acts on a character, or shows what follows it in another order: control characters
// (C0, C1), format characters (Cf, which has the bidirectional controls), and separators of lines and paragraphs.
func IsObeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Text returns a text with a question mark for each character that a terminal obeys, and for each byte that is not UTF-8.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if IsObeyed(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
}
