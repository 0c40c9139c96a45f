package redlock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// go-redis looks up the host's name when it makes a client, unless it is told not to. A call would wait for a DNS server that
// does not answer, and longer than the node timeout.
func TestLocker_LooksUpNoNameBesideTheDialer(t *testing.T) {
	var asked atomic.Int32
	given := net.DefaultResolver
	defer func() { net.DefaultResolver = given }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Add(1)
		return nil, errors.New("refused")
	}}
	options, err := redlock.ClientOptions("redis-1.example:6379")
	want.NoError(t, err)
	options.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	client := redis.NewClient(options)
	defer client.Close()
	l, err := redlock.New([]redis.UniversalClient{client})
	want.NoError(t, err)
	_, err = l.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrNoQuorum)
	want.NoError(t, l.Close(t.Context()))
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests to a DNS server", n)
	}
}
