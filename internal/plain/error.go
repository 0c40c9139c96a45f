package plain

import "strings"

// echoed begins what servers repeat of a command that they do not know. Of AUTH and HELLO that is a user and a password.
const echoed = ", with args beginning with:"

// Error returns an error whose text moves no cursor and turns no line around, and repeats no password, wherever it is printed:
// a server chose the words.
func Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := Text(text)
	if before, _, has := strings.Cut(clean, echoed); has {
		return unknownCommand(before)
	}
	if clean == text {
		return err
	}
	return &printable{error: err, text: clean}
}

type printable struct {
	error
	text string
}

func (e *printable) Error() string { return e.text }
func (e *printable) Unwrap() error { return e.error }

// unknownCommand is a server's refusal. It does not wrap the error that it was: some ways of printing show what is wrapped.
type unknownCommand string

func (e unknownCommand) Error() string { return string(e) }

// RedisError says that a server has answered, as with the errors of go-redis.
func (unknownCommand) RedisError() {}
