// Package testmain is what the TestMain of every package does.
package testmain

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// Run runs the tests and fails if a goroutine is left afterwards. It silences go-redis, which otherwise reports each
// failed dial.
func Run(m *testing.M, options ...goleak.Option) {
	logging.Disable()
	goleak.VerifyTestMain(m, options...)
}
