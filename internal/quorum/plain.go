package quorum

import (
	"strings"
	"unicode"
)

// plain returns an error whose text moves no cursor and turns no line around, wherever it is printed: a server chose the words.
func plain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, text)
	if clean == text {
		return err
	}
	return &plainError{error: err, text: clean}
}

type plainError struct {
	error
	text string
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.error }
