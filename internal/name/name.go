// Package name holds the one rule for the names of locks, elections and jobs, and makes keys from the names of
// elections.
package name

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxLen is the longest name, in bytes.
const MaxLen = 200

// Check returns an error that names field, value and rule unless value is 1 to MaxLen bytes of
// valid UTF-8 without control characters. These include characters that change the direction of text or end a line.
func Check(field, value string) error { return CheckLen(field, value, MaxLen) }

// CheckLen is Check with another limit for the length.
func CheckLen(field, value string, longest int) error {
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
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("%s %q must not contain the control character %q", field, value, r)
		}
	}
	return nil
}
