package dashboard

import (
	"strings"
	"time"
	"unicode"

	"github.com/redlockfx/redlockfx/scheduler"
)

const maxText = 300 // bytes of a text that others have written

// firstLine cuts a text that may be long, hold a stack, or be meant to look like something else. Control characters end a line of
// an event stream, or turn the direction of what follows on the page.
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

// stateOf is a state as nodes may say it: it is also the name of a style.
func stateOf(s scheduler.State) scheduler.State { return scheduler.State(firstLine(string(s))) }

// when is nil for no time.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = sayable(t)
	return &t
}

// sayable returns t in UTC, or the nearest time that JSON has. One nonsensical time must not cost the whole answer.
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
