package otelredlock

import (
	"context"
	"errors"
	"io"
	"net"
	"regexp"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"

	"github.com/redlockfx/redlockfx/redlock"
)

const errorType = attribute.Key("error.type")

// kinds are the errors that have a type, the more telling ones first.
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

// code begins an error of a server, as in "NOAUTH Authentication required."
var code = regexp.MustCompile(`^[A-Z]{1,20}\b`)

// typeOf is the kind of an error, of a fixed and small number: its text is none.
func typeOf(err error) string {
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	if answer, ok := errors.AsType[redis.Error](err); ok {
		if code := code.FindString(answer.Error()); code != "" {
			return code
		}
	}
	if failed, ok := errors.AsType[net.Error](err); ok {
		if failed.Timeout() {
			return "timeout"
		}
		return "network"
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, io.EOF): // the connection was closed
		return "network"
	}
	return "_OTHER" // what the semantic conventions call it
}
