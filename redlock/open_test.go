package redlock_test

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A list from the environment that was not split.
func TestOpen_SaysThatAListWasNotSplit(t *testing.T) {
	for _, list := range []string{"a:1,b:2,c:3", "redis://user:S3cret@a:1,redis://user:S3cret@b:2", "redis://a:1, b:2"} {
		_, err := redlock.Open([]string{list})
		want.Err(t, err, redlock.ErrConfig)
		want.Text(t, err, "node 1 of 1", "the node's address has a comma", "%2C")
		if strings.Contains(err.Error(), "S3cret") {
			t.Errorf("it has the password: %v", err)
		}
	}
}
