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

// WithLogger sets where it is logged which requests were refused, and why; nowhere if not set or nil.
func WithLogger(log *zap.Logger) Option {
	return func(s *settings) {
		if log != nil {
			s.log = log
		}
	}
}

// WithMaxBody sets how many bytes the body of a request to [Tx] may have; 1 MiB if not set. Too few: good requests get 413. Too
// many: Tx holds each body in memory, to call the handler again.
func WithMaxBody(bytes int64) Option { return func(s *settings) { s.maxBody = bytes } }

// newSettings panics if an argument makes no sense: a service without a check would let everybody in.
func newSettings(what string, store, resource bool, opts []Option) *settings {
	s := &settings{log: zap.NewNop(), maxBody: defaultMaxBody}
	for _, opt := range opts {
		opt(s)
	}
	switch {
	case !store:
		panic(fmt.Sprintf("fencehttp: %s needs where the tokens are, it is nil", what))
	case !resource:
		panic(fmt.Sprintf("fencehttp: %s needs a function that names the resource of a request, it is nil", what))
	case s.maxBody < 0:
		panic(fmt.Sprintf("fencehttp: the largest body is %d bytes, it must be 0 or more", s.maxBody))
	}
	return s
}
