package redlockfx_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/tlsnode"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestConfig_ConnectsWithItsCertificates(t *testing.T) {
	node := tlsnode.Start(t)
	cert, key := node.Files(t)
	for name, test := range map[string]struct {
		change func(*redlockfx.Config)
		after  func(clientCert string) error // after the start
		works  bool
	}{
		"all of it":             {change: func(*redlockfx.Config) {}, works: true},
		"a wrong name":          {change: func(c *redlockfx.Config) { c.TLSServerName = "example.org" }},
		"no CA":                 {change: func(c *redlockfx.Config) { c.TLSCAFile = "" }},
		"no client certificate": {change: func(c *redlockfx.Config) { c.TLSCertFile, c.TLSKeyFile = "", "" }},
		"a certificate that was replaced since": {change: func(*redlockfx.Config) {}, after: func(clientCert string) error {
			return os.WriteFile(clientCert, nil, 0o600) // the next connection uses it
		}},
	} {
		t.Run(name, func(t *testing.T) {
			node := tlsnode.Start(t)
			text, err := os.ReadFile(cert)
			want.NoError(t, err)
			clientCert := filepath.Join(t.TempDir(), "client.pem")
			want.NoError(t, os.WriteFile(clientCert, text, 0o600))
			config := redlockfx.Config{
				Name: "x", Nodes: []string{"rediss://u:p@" + node.Addr}, NodeTimeout: 3 * time.Second,
				TLSCAFile: cert, TLSCertFile: clientCert, TLSKeyFile: key, TLSServerName: "example.com",
			}
			test.change(&config)
			var locker *redlock.Locker
			app := fxtest.New(t, redlockfx.Module, fx.Supply(config), fx.Populate(&locker), fx.NopLogger)
			app.RequireStart()
			if test.after != nil {
				want.NoError(t, test.after(clientCert))
			}
			locker.Nodes(t.Context())
			if got := <-node.Attempts; (got.Err == nil) != test.works || test.works && got.Name != "example.com" {
				t.Errorf("got %+v", got)
			}
			app.RequireStop()
		})
	}
}

func TestConfig_RefusesTLSThatWouldNotBeUsed(t *testing.T) {
	node := tlsnode.Start(t)
	cert, key := node.Files(t)
	options, err := redlock.ClientOptions("a:1")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config redlockfx.Config
		want   []string
	}{
		"no file":         {redlockfx.Config{Nodes: []string{"rediss://a"}, TLSCAFile: cert + "x"}, []string{"TLS CA file", "no such file"}},
		"no certificate":  {redlockfx.Config{Nodes: []string{"rediss://a"}, TLSCAFile: key}, []string{"TLS CA file", "no certificate"}},
		"no key":          {redlockfx.Config{Nodes: []string{"rediss://a"}, TLSCertFile: cert}, []string{"client certificate", "key file"}},
		"not encrypted":   {redlockfx.Config{Nodes: []string{"redis://a"}, TLSCAFile: cert}, []string{"rediss://", "not be encrypted"}},
		"no host":         {redlockfx.Config{Nodes: []string{"rediss://a"}, TLSServerName: "a.example\n"}, []string{`server name "a.example\n" is not the name of a host`}},
		"not verified":    {redlockfx.Config{Nodes: []string{"rediss://a?skip_verify=true"}}, []string{"skip_verify"}},
		"clients of Node": {redlockfx.Config{TLSServerName: "a"}, []string{"Config.Nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Name = "x"
			opts := []fx.Option{redlockfx.Module, fx.Supply(test.config)}
			if len(test.config.Nodes) == 0 {
				client := redis.NewClient(options)
				defer client.Close()
				opts = append(opts, redlockfx.Node(func() redis.UniversalClient { return client }))
			}
			refused(t, test.want, opts...)
			want.Text(t, test.config.Validate(), test.want...)
		})
	}
}
