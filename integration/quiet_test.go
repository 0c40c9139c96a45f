//go:build unix

package integration_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/tlsnode"
	"github.com/redlockfx/redlockfx/redlock"
)

// quiet are the ways in which connections end that nobody uses for a while.
var quiet = map[string]func(*testing.T, *redis.Client, *redisproc.Proxy){
	"closed": func(t *testing.T, server *redis.Client, _ *redisproc.Proxy) {
		must(t, server.Do(t.Context(), "CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES").Err())
	},
	"reset": func(_ *testing.T, _ *redis.Client, p *redisproc.Proxy) {
		p.Refuse()
		p.Heal()
	},
	"swallowed": func(_ *testing.T, _ *redis.Client, p *redisproc.Proxy) { p.Swallow() },
}

// quietClients make a client of a node behind a proxy.
var quietClients = map[string]func(*testing.T, *redis.Client, *redisproc.Proxy) redis.UniversalClient{
	"single": func(_ *testing.T, _ *redis.Client, p *redisproc.Proxy) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: p.Addr()})
	},
	"honours contexts": func(_ *testing.T, _ *redis.Client, p *redisproc.Proxy) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: p.Addr(), ContextTimeoutEnabled: true})
	},
	"TLS": func(t *testing.T, server *redis.Client, p *redisproc.Proxy) redis.UniversalClient {
		o := &redis.Options{Addr: p.Addr(), TLSConfig: &tls.Config{RootCAs: startTLS(t, server), MinVersion: tls.VersionTLS12}}
		return redis.NewClient(o)
	},
	"Sentinel": func(_ *testing.T, _ *redis.Client, p *redisproc.Proxy) redis.UniversalClient {
		return redis.NewClient(throughSentinel(p))
	},
	"Sentinel, TLS": func(t *testing.T, server *redis.Client, p *redisproc.Proxy) redis.UniversalClient {
		o := throughSentinel(p)
		plain := o.Dialer
		config := &tls.Config{RootCAs: startTLS(t, server), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := plain(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(conn, config)
			return secure, secure.HandshakeContext(ctx)
		}
		return redis.NewClient(o)
	},
	"cluster": func(t *testing.T, server *redis.Client, p *redisproc.Proxy) redis.UniversalClient {
		must(t, server.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
		poll(t, "cluster", func() bool {
			return strings.Contains(server.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
		})
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{p.Addr()}, Dialer: dialer(p)})
	},
}

// throughSentinel are the options of a client that Sentinel has told where the master is.
func throughSentinel(p *redisproc.Proxy) *redis.Options {
	return &redis.Options{Addr: quorum.Failover, Dialer: dialer(p)}
}

// dialer connects to the proxy, whatever the address.
func dialer(p *redisproc.Proxy) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.Addr())
	}
}

// startTLS makes a server expect TLS on its port, and returns who has signed its certificate.
func startTLS(t *testing.T, server *redis.Client) *x509.CertPool {
	t.Helper()
	node := tlsnode.Start(t)
	cert, key := node.Files(t)
	_, port, err := net.SplitHostPort(server.Options().Addr)
	must(t, err, server.ConfigSet(t.Context(), "tls-auth-clients", "no").Err(),
		server.Do(t.Context(), "CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key).Err(),
		server.ConfigSet(t.Context(), "port", "0").Err(), server.ConfigSet(t.Context(), "tls-port", port).Err())
	return node.Roots()
}

// A connection that has ended while it was quiet is not the node's answer: a free lock is granted in the same call, and
// nothing is reported about the node.
func TestQuiet_ConnectionsThatHaveEndedCostNothing(t *testing.T) {
	t.Parallel()
	tests := beside{t: t}
	defer tests.Wait()
	for kind, client := range quietClients {
		for how, end := range quiet {
			tests.run(kind+"/"+how, func(t *testing.T) {
				server, proxy := startQuiet(t, kind)
				given := client(t, server, proxy)
				t.Cleanup(func() { _ = given.Close() }) // TLS says good-bye on connections that have ended
				var reported complaints
				l := reported.of(lockerOn(t, []redis.UniversalClient{given}, redlock.WithoutRestartGuard(),
					redlock.WithNodeTimeout(2*longTimeout), redlock.WithTTL(20*longTimeout)))
				for range 5 { // so that dialing is no large part of the usual time of a call
					release(t, acquire(t, l, "x"))
				}
				fill(t, given)
				end(t, server, proxy)
				lease, err := l.TryAcquire(t.Context(), "x")
				must(t, err)
				release(t, lease)
				if all := reported.sorted(); len(all) > 0 {
					t.Errorf("reported %q, want nothing", all)
				}
			})
		}
	}
}

// A subscription that a router has forgotten is noticed within a minute. From then on, those who wait learn of a
// release when it happens.
func TestQuiet_AForgottenSubscriptionIsReplaced(t *testing.T) {
	t.Parallel()
	tests := beside{t: t}
	defer tests.Wait()
	for kind, client := range quietClients {
		tests.run(kind, func(t *testing.T) {
			server, proxy := startQuiet(t, kind)
			given := []redis.UniversalClient{client(t, server, proxy)}
			t.Cleanup(func() { _ = given[0].Close() }) // TLS says good-bye on connections that have ended
			opts := []redlock.Option{redlock.WithoutRestartGuard(), redlock.WithNodeTimeout(longTimeout), redlock.WithTTL(waitLimit)}
			held := acquire(t, lockerOn(t, given, opts...), "x")
			waiter, acquired := lockerOn(t, given, opts...), make(chan error, 1)
			go func() { // ends with the test, and is received below
				_, err := waiter.Acquire(t.Context(), "x")
				acquired <- err
			}()
			var forgotten []string
			poll(t, "subscription", func() bool {
				forgotten = listening(t, server)
				return len(forgotten) > 0
			})
			proxy.Swallow()
			poll(t, "subscription in place of it", func() bool { // after 50 s of silence
				return slices.ContainsFunc(listening(t, server), func(id string) bool { return !slices.Contains(forgotten, id) })
			})
			release(t, held)
			select {
			case err := <-acquired:
				must(t, err)
			case <-time.After(waitLimit / 4):
				t.Errorf("it has not learned of the release after %v", waitLimit/4)
			}
		})
	}
}

// listening returns the ids of the server's clients that are subscribed to a channel.
func listening(t *testing.T, server *redis.Client) (ids []string) {
	t.Helper()
	clients, err := server.Do(t.Context(), "CLIENT", "LIST", "TYPE", "PUBSUB").Text()
	must(t, err)
	for line := range strings.Lines(clients) {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
	}
	return ids
}

// startQuiet starts a server behind a proxy. The server's client has a connection that outlives the end of plain ones.
func startQuiet(t *testing.T, kind string) (server *redis.Client, proxy *redisproc.Proxy) {
	t.Helper()
	var args []string
	if kind == "cluster" {
		args = []string{"--cluster-enabled", "yes"}
	}
	nodes := startServers(t, 1, args...)
	proxy, err := nodes.Node(0).Proxy()
	must(t, err)
	server = admins(t, nodes.Addrs())[0]
	must(t, server.Ping(t.Context()).Err())
	return server, proxy
}

// fill leaves several idle connections in the pool of a client.
func fill(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	var users sync.WaitGroup
	for range 6 {
		users.Go(func() {
			if err := client.BLPop(t.Context(), time.Second, "{redlock}:none").Err(); !errors.Is(err, redis.Nil) {
				t.Error(err)
			}
		})
	}
	users.Wait()
}
