package nodetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// bubble runs a test in a bubble of its own with n nodes and one process's links to them.
func bubble(t *testing.T, n int, test func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(n)
		t.Cleanup(c.Close)
		test(t, c, c.Links())
	})
}

// single returns a client of node 0 that tries once, obeys its context and has one open connection.
func single(t *testing.T, l *nodetest.Links) *redis.Client {
	t.Helper()
	opt := l.Options(0)
	opt.MaxRetries = -1
	opt.DialerRetries = 1
	opt.ContextTimeoutEnabled = true
	client := redis.NewClient(opt)
	t.Cleanup(func() { client.Close() })
	ok(t, client.Ping(t.Context()).Err())
	return client
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has fails the test unless node i's value of key is want.
func has(t *testing.T, c *nodetest.Cluster, i int, key, want string) {
	t.Helper()
	if got, err := c.Node(i).Get(key); err != nil || got != want {
		t.Errorf("node %d has %s=%q (%v), want %q", i, key, got, err, want)
	}
}
