package dashboard

import (
	"strings"
	"unicode"
)

const maxText = 300 // limit of a text from elsewhere, in bytes

// firstLine returns the first line of a text without control characters, cut to maxText. The text may be long, hold a
// stack trace, or imitate other parts of the page. Control characters could end a line of an event stream, or reverse
// the direction of the text after them.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		text = strings.TrimSpace(text[:end])
	}
	cut := len(text) > maxText
	if cut {
		text = text[:maxText]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if cut {
		text += "…"
	}
	return text
}
