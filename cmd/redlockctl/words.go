package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/redlockfx/redlockfx/internal/plain"
)

// oneLine returns an error as one line, without control characters.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return plain.Text(strings.Join(lines, "; "))
}

// complain prints an error on one line.
func complain(w io.Writer, err error) { _, _ = fmt.Fprintln(w, "redlockctl:", oneLine(err)) } // nowhere to report an error of stderr

// cell returns the first line of a text, for a table.
func cell(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return plain.Text(text)
}

// encode returns a value as JSON, on one line unless it is indented. It escapes control characters, so that programs
// read the original text.
func encode(value any, indent bool) ([]byte, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	if indent {
		out.SetIndent("", "  ")
	}
	if err := out.Encode(value); err != nil {
		return nil, err
	}
	var escaped []byte
	for _, r := range text.String() {
		switch {
		case r == '\n' || !plain.IsUnsafe(r):
			escaped = append(escaped, string(r)...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
	}
	return escaped, nil
}
