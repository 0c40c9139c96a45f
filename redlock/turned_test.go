package redlock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// door is a server that writes a text to each client, reads its request, and closes the connection. Without a text it
// only reads first.
func door(t *testing.T, says string, waits bool) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() { // ends with the listener
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { // ends at its deadline, or when the client disconnects
				_ = c.SetDeadline(time.Now().Add(2 * time.Second))
				_, _ = io.WriteString(c, says)
				if _, err := c.Read(make([]byte, 1024)); err == nil && waits {
					_, _ = io.Copy(io.Discard, c)
				}
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		conns.Wait()
	})
	return listener.Addr().String()
}

// A go-redis client takes the text that a server writes before it closes the connection for the answer to its first
// command, and loses it.
func TestOpen_SaysWhyTheServerClosesTheConnection(t *testing.T) {
	t.Parallel()
	const noTLS = "if it expects TLS, the URL begins with rediss://"
	for name, c := range map[string]struct {
		scheme, says string
		waits        bool
		want         []string
	}{
		"protected mode": {"redis", "-DENIED Redis is running in protected mode because of this. In this mode, and so on: " +
			strings.Repeat("advice ", 100) + "\r\n", false, []string{`turns connections away: "DENIED Redis is running in protected mode because of this": `}},
		"too many":           {"redis", "-ERR max number of clients reached\r\n", false, []string{`turns connections away: "ERR max number of clients reached": `}},
		"no word":            {"redis", "", false, []string{"closed the connection before it answered", noTLS}},
		"an alert of TLS":    {"redis", "\x15\x03\x01\x00\x02\x02\x0a", false, []string{noTLS}},
		"TLS where is none":  {"rediss", "", true, []string{"the TLS handshake failed", "the URL begins with redis://"}},
		"its request again":  {"redis", "-ERR unknown command 'HELLO' '3' 'AUTH' 'u' 'S3cret'\r\n", false, nil}, // only known texts are kept
		"TLS that is closed": {"rediss", "", false, []string{"the TLS handshake failed", "the URL begins with redis://"}},
		"TLS to a plain one": {"rediss", "-ERR Protocol error: no\r\n", false, []string{"the TLS handshake failed", "the URL begins with redis://"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := redlock.Open([]string{c.scheme + "://u:S3cret@" + door(t, c.says, c.waits)}, redlock.WithNodeTimeout(3*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.TryAcquire(t.Context(), "x")
			want.Err(t, err, redlock.ErrNoQuorum)
			want.Text(t, err, c.want...)
			if strings.Contains(err.Error(), "S3cret") || c.scheme == "redis" && strings.Contains(err.Error(), "->") || strings.Contains(err.Error(), "advice") {
				t.Errorf("it says too much: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = l.Close(ctx) // the node answers nothing
		})
	}
}

// A server without TLS says nothing to a TLS client. The node timeout is over before the dial is.
func TestOpen_SaysThatThePortMayNotUseTLS(t *testing.T) {
	t.Parallel()
	for scheme, n := range map[string]int{"redis": 0, "rediss": 3} {
		l, err := redlock.Open([]string{scheme + "://" + door(t, "", true)}, redlock.WithNodeTimeout(50*time.Millisecond))
		want.NoError(t, err)
		said := 0
		for range 3 { // which of the timeouts ends first differs
			_, err := l.TryAcquire(t.Context(), "x")
			want.Err(t, err, redlock.ErrNoQuorum)
			if err != nil && strings.Contains(err.Error(), "if this port does not use TLS, the URL begins with redis://") {
				said++
			}
		}
		if said != n {
			t.Errorf("%s: said %d times", scheme, said)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = l.Close(ctx) // the node answers nothing
	}
}

// A node that is away is no matter of TLS, and the error does not show the URL.
func TestOpen_OfANodeThatIsAway(t *testing.T) {
	l, err := redlock.Open([]string{"rediss://u:S3cret@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrNoQuorum)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = errors.Join(err, l.Close(ctx))
	if strings.Contains(err.Error(), "S3cret") || strings.Contains(err.Error(), "TLS") {
		t.Errorf("got %v", err)
	}
}

func TestClientOptions_SayWhatIsWrongWithACommonMistake(t *testing.T) {
	for u, says := range map[string]string{
		"":                        "is empty: is the variable set",
		" \n":                     "is empty",
		"unix:///run/redis.sock":  "pass a client of your own to New",
		"unix://u:S3cret@/r.sock": "pass a client of your own to New",
	} {
		_, err := redlock.ClientOptions(u)
		want.Err(t, err, redlock.ErrConfig)
		want.Text(t, err, says)
		if errors.Is(err, redlock.ErrConfig) && strings.Contains(err.Error(), "S3cret") {
			t.Errorf("%q: the error shows a part of it: %v", u, err)
		}
	}
}
