// Package name holds the one rule for the names of locks, elections and jobs, and makes keys from the names of
// elections.
package name

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redlockfx/redlockfx/internal/plain"
)

// MaxLen is the longest name, in bytes.
const MaxLen = 200

// spaces may be inside a name: the space, that of Japanese, and the joiners of letters and of emoji.
const spaces = " \u3000\u200c\u200d"

// Check returns an error that names field, value and rule unless value is 1 to MaxLen bytes of valid UTF-8 without
// invisible characters. With them, two names that look the same would be two locks. They include control characters,
// those that change the direction of text or end a line, and white space other than spaces between words.
func Check(field, value string) error { return CheckLen(field, value, MaxLen) }

// CheckLen is Check with another limit for the length.
func CheckLen(field, value string, longest int) error {
	hidden := func(r rune) bool { return plain.IsInvisible(r) && !strings.ContainsRune(spaces, r) }
	if err := check(field, value, longest, "invisible", hidden); err != nil {
		return err
	}
	if strings.TrimFunc(value, plain.IsInvisible) != value {
		return fmt.Errorf("%s %q must not begin or end with white space", field, value)
	}
	return nil
}

// CheckText is Check for what people say, such as a reason. It may have white space anywhere.
func CheckText(field, value string) error {
	return check(field, value, MaxLen, "control", func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	})
}

func check(field, value string, longest int, kind string, bad func(rune) bool) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is empty, it must have 1 to %d bytes", field, longest)
	case len(value) > longest:
		return fmt.Errorf("%s %.20q... has %d bytes, it may have %d",
			field, value, len(value), longest)
	case !utf8.ValidString(value):
		return fmt.Errorf("%s %q must be valid UTF-8", field, value)
	}
	for _, r := range value {
		if bad(r) {
			return fmt.Errorf("%s %q must not contain the %s character %q", field, value, kind, r)
		}
	}
	return nil
}
