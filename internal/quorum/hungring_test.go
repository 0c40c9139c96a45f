package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// wrapped is a client as services wrap it, for example for tracing.
type wrapped struct{ *redis.Client }

// A client that is used as it is waits for its own ReadTimeout, and then finds that the context has ended. The node is silent, and not
// this process.
func TestNature_AHungNodeIsBlamedWhateverTheClient(t *testing.T) {
	for name, clientOf := range map[string]func(*redis.Options) redis.UniversalClient{
		"a ring":                   ringOf,
		"a cluster":                clusterOf,
		"a client":                 clientOf,
		"a client within a struct": func(o *redis.Options) redis.UniversalClient { return wrapped{redis.NewClient(o)} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
				o := c.Links().Options(0)
				o.ReadTimeout, o.MaxRetries = 0, 0 // go-redis then waits for three seconds, and tries again
				q := startOn(c, clientOf(o), nil)
				if a := askUntilOver(t, q); a.Err != nil {
					t.Fatal(a.Err)
				}
				c.Hang()
				for range 3 {
					time.Sleep(time.Second)
					a := askUntilOver(t, q)
					if errors.Is(a.Err, quorum.ErrHeldUp) || !q.Slow(0) {
						t.Errorf("the node hangs, and this process is blamed: %v", a.Err)
					}
				}
			})
		})
	}
}
