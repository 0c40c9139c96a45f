package plain

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// echoed precedes the arguments that servers repeat when they do not know a command. For AUTH and HELLO, these are a
// user and a password.
const echoed = ", with args beginning with:"

// Error returns an error that is safe to print, although a server chose its words: its text neither moves the cursor
// nor reorders a line, and repeats no password.
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

// unknownCommand is a server's refusal. It does not wrap the original error, because some ways of printing show wrapped
// errors.
type unknownCommand string

func (e unknownCommand) Error() string { return string(e) }

// RedisError marks the error as a server's answer, as in go-redis.
func (unknownCommand) RedisError() {}

// FileError quotes the name of the file in an error of package os, so that readers see a space or a line break in it.
func FileError(err error) error {
	if e, is := errors.AsType[*fs.PathError](err); is {
		return &fs.PathError{Op: e.Op, Path: strconv.Quote(e.Path), Err: e.Err}
	}
	return err
}
