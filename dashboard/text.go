package dashboard

import (
	"strings"
	"time"
	"unicode"

	"github.com/redlockfx/redlockfx/scheduler"
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

// stateOf returns a state that a node has sent, made safe: it is also used as a CSS class.
func stateOf(s scheduler.State) scheduler.State { return scheduler.State(firstLine(string(s))) }

// when returns nil for the zero time.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = sayable(t)
	return &t
}

// sayable returns t in UTC, or the nearest time that JSON can represent. Otherwise one invalid time would fail the
// whole answer.
func sayable(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 1:
		return time.Time{}
	default:
		return t
	}
}
