package quorum

import "github.com/redlockfx/redlockfx/internal/plain"

// printable returns an error whose text moves no cursor and turns no line around, wherever it is printed: a server chose the words.
func printable(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := plain.Text(text)
	if clean == text {
		return err
	}
	return &printableError{error: err, text: clean}
}

type printableError struct {
	error
	text string
}

func (e *printableError) Error() string { return e.text }
func (e *printableError) Unwrap() error { return e.error }
