package redlock_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/tlsnode"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestOpen_UsesTLSAsConfigured(t *testing.T) {
	node := tlsnode.Start(t) // all have the same certificate
	client := []tls.Certificate{node.Certificate}
	for name, test := range map[string]struct {
		host   string
		config *tls.Config
		works  bool
		asks   string // the name that the client sends
	}{
		"all of it":              {"127.0.0.1", &tls.Config{RootCAs: node.Roots(), Certificates: client}, true, ""},
		"another name":           {"127.0.0.1", &tls.Config{RootCAs: node.Roots(), Certificates: client, ServerName: "example.com"}, true, "example.com"},
		"a wrong name":           {"127.0.0.1", &tls.Config{RootCAs: node.Roots(), Certificates: client, ServerName: "example.org"}, false, ""},
		"the name in the URL":    {"localhost", &tls.Config{RootCAs: node.Roots(), Certificates: client}, false, ""},
		"no client certificate":  {"127.0.0.1", &tls.Config{RootCAs: node.Roots()}, false, ""},
		"an unknown CA":          {"127.0.0.1", &tls.Config{Certificates: client}, false, ""},
		"an unknown CA, default": {"127.0.0.1", nil, false, ""},
		"unverified, on purpose": {"127.0.0.1", &tls.Config{InsecureSkipVerify: true, Certificates: client}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := tlsnode.Start(t)
			_, port, err := net.SplitHostPort(node.Addr)
			if err != nil {
				t.Fatal(err)
			}
			opts := []redlock.Option{redlock.WithNodeTimeout(3 * time.Second)}
			if test.config != nil {
				opts = append(opts, redlock.WithTLS(test.config))
			}
			l, err := redlock.Open([]string{"rediss://u:p@" + net.JoinHostPort(test.host, port)}, opts...)
			if err != nil {
				t.Fatal(err)
			}
			l.Nodes(t.Context())
			select {
			case got := <-node.Attempts:
				if (got.Err == nil) != test.works || test.works && got.Name != test.asks {
					t.Errorf("got %+v", got)
				}
			case <-time.After(5 * time.Second):
				t.Error("no connection")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = l.Close(ctx) // the node answers nothing
		})
	}
}

func TestOpen_RefusesConnectionsThatAreLessSecureThanTheyLook(t *testing.T) {
	_, err := redlock.Open([]string{"rediss://u:p@a:1?skip_verify=true"})
	want.Err(t, err, redlock.ErrConfig)
	want.Text(t, err, "node 1 of 1", "skip_verify", "WithTLS")

	_, err = redlock.Open([]string{"rediss://a:1", "b:1", "rediss://c:1"}, redlock.WithTLS(&tls.Config{}))
	want.Err(t, err, redlock.ErrConfig)
	want.Text(t, err, "node 2 of 3", "rediss://", "not be encrypted")
}
