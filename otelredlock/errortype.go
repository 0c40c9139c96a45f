package otelredlock

import (
	"errors"
	"io"
	"net"
	"regexp"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/redlock"
)

const errorType = attribute.Key("error.type")

// kinds are the errors that have a type, the more specific ones first.
var kinds = []struct {
	err  error
	name string
}{
	{redlock.ErrLost, "lost"},
	{redlock.ErrExpired, "expired"},
	{redlock.ErrReleased, "released"},
	{redlock.ErrGuarded, "guarded"},
	{redlock.ErrHeld, "held"},
	{redlock.ErrConfig, "config"},
	{redlock.ErrNoQuorum, "no_quorum"},
	{redlock.ErrClosed, "closed"},
}

// code matches the code of a server's error, as in "NOAUTH Authentication required.", but not a word of a sentence.
var code = regexp.MustCompile(`^[A-Z_]{1,20}$`)

// typeOf returns the type of an error. The number of types is small and fixed, so texts of errors are not used.
func typeOf(err error) string {
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	if found := refusal.Code(err); code.MatchString(found) {
		return found
	}
	switch {
	case errors.Is(err, quorum.ErrUnsent):
		return "not_sent"
	case errors.Is(err, quorum.ErrPerhapsDone):
		return "perhaps_done"
	}
	if failed, ok := errors.AsType[net.Error](err); ok { // of a subscription
		if failed.Timeout() {
			return "timeout"
		}
		return "network"
	}
	if errors.Is(err, io.EOF) { // the connection was closed
		return "network"
	}
	return "_OTHER" // the name in the semantic conventions
}
