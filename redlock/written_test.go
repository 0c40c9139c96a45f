package redlock_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
	"github.com/redlockfx/redlockfx/redlock"
)

// However a program prints the values of this package, the output contains neither the password nor the key of the
// client's certificate.
func TestEveryType_IsWrittenWithoutSecrets(t *testing.T) {
	const hidden = "S3cretPassw0rdOfTheNodesAndKey"
	server := miniredis.RunT(t)
	server.RequireUserAuth("locks", hidden)
	key := ed25519.PrivateKey(hidden)
	secure := redlock.WithTLS(&tls.Config{Certificates: []tls.Certificate{{PrivateKey: key, OCSPStaple: []byte(hidden)}}})
	overTLS, err := redlock.Open([]string{"rediss://locks:" + hidden + "@r1"}, secure)
	want.NoError(t, err)
	encrypted := overTLS.Settings()
	want.NoError(t, overTLS.Close(t.Context()))
	_, refused := redlock.Open([]string{"rediss://locks:" + hidden + "@r1", "redis://locks:" + hidden + "@r1"}, secure)

	l, err := redlock.Open([]string{"redis://locks:" + hidden + "@" + server.Addr()},
		redlock.WithUnseenRestarts(), redlock.WithoutRestartGuard())
	if err != nil {
		t.Fatal(err)
	}
	lease := mustAcquire(t, l, "x")
	holder, err := l.Holder(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	_, held := l.TryAcquire(t.Context(), "x")
	if !errors.Is(held, redlock.ErrHeld) {
		t.Fatal(held)
	}
	status := l.Nodes(t.Context())[0]
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	want.NoError(t, l.Close(t.Context())) // what still works would change while it is written
	written.Without(t, hidden, map[string]any{
		"Locker": l, "Lease": lease, "Settings": l.Settings(), "Settings with TLS": encrypted, "Option": secure, "Holder": holder,
		"NodeStatus": status, "an error": held, "a refusal": refused,
		"NodeError": redlock.NodeError{Addr: "r1", Err: refused}, "AcquireOption": redlock.WithValue("x"), "NodeEvent": redlock.NodeEvent{},
		"Extension": redlock.Extension{},
	})
}

// A server without AUTH, or with AUTH renamed, repeats its arguments in the error: a user and a password.
func TestEveryType_IsWrittenWithoutThePasswordThatAServerRepeats(t *testing.T) {
	const hidden = "S3cretPassw0rd"
	server := miniredis.RunT(t)
	server.Server().SetPreHook(func(c *miniserver.Peer, cmd string, args ...string) bool {
		if cmd != "AUTH" && cmd != "HELLO" {
			return false
		}
		c.WriteError(fmt.Sprintf("ERR unknown command '%s', with args beginning with: '%s' ", cmd, strings.Join(args, "' '")))
		return true
	})
	l, err := redlock.Open([]string{"redis://locks:" + hidden + "@" + server.Addr()}, redlock.WithTTL(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	reported := make(map[redlock.NodeEventKind]any)
	l.OnNode(func(e redlock.NodeEvent) { reported[e.Kind] = e })
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // a node that fails is reported after a second
	defer cancel()
	_, tried := l.TryAcquire(ctx, "x")
	_, read := l.Holder(ctx, "x")
	status := l.Nodes(ctx)[0]
	inside.Of(l).OnHolder("x", func(inside.Holder) {}) // subscribes
	<-ctx.Done()
	if err := l.Close(t.Context()); err != nil { // within a TTL: such a node may have granted the lock
		t.Error(err)
	}
	if len(reported) != 2 || reported[redlock.NodeFails] == nil || reported[redlock.NodeProblem] == nil { // of calls, of subscribing
		t.Errorf("reported %+v", reported)
	}
	want.Text(t, tried, "unknown command")
	written.Without(t, hidden, map[string]any{
		"TryAcquire": tried, "Holder": read, "NodeStatus": status, "a failure": reported[redlock.NodeFails],
		"a problem": reported[redlock.NodeProblem],
	})
}
