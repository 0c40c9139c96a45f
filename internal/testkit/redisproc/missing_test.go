//go:build unix

package redisproc_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// The other tests of this package need servers: they are in module integration.
func TestStart_SaysHowToInstallRedisWhereItIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := redisproc.Start(t.Context(), 1)
	want.Text(t, err, "apt-get install redis-server")
}
