package fencehttp

import (
	"fmt"

	"go.uber.org/zap"
)

const defaultMaxBody = 1 << 20

// Option changes a setting of [Check] or [Tx].
type Option func(*settings)

type settings struct {
	log     *zap.Logger
	maxBody int64
}

// WithLogger sets the logger for refused requests and the reasons. Without it, or with nil, nothing is logged.
func WithLogger(log *zap.Logger) Option {
	return func(s *settings) {
		if log != nil {
			s.log = log
		}
	}
}

// WithMaxBody sets how many bytes the body of a request to [Tx] may have; 1 MiB if not set. Too few: good requests get
// 413. Too many: bodies fill the memory, because Tx holds each body to call the handler again.
func WithMaxBody(bytes int64) Option { return func(s *settings) { s.maxBody = bytes } }

// newSettings panics if an argument is invalid, because a service without a check would let everybody in.
func newSettings(what string, store, resource bool, opts []Option) *settings {
	s := &settings{log: zap.NewNop(), maxBody: defaultMaxBody}
	for _, opt := range opts {
		opt(s)
	}
	switch {
	case !store:
		panic(fmt.Sprintf("fencehttp: the first argument of %s is nil: it must say where the tokens are", what))
	case !resource:
		panic(fmt.Sprintf("fencehttp: the second argument of %s is nil: it must name the resource of a request", what))
	case s.maxBody < 0:
		panic(fmt.Sprintf("fencehttp: the largest body is %d bytes, it must be 0 or more", s.maxBody))
	}
	return s
}
