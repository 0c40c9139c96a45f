package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/tlsnode"
)

func TestTLS_IsSpokenAsTheFilesSay(t *testing.T) {
	for name, files := range map[string]func(t *testing.T, cert, key string) []string{
		"flags": func(_ *testing.T, cert, key string) []string {
			return []string{"--tls-ca", cert, "--tls-cert", cert, "--tls-key", key}
		},
		"variables": func(t *testing.T, cert, key string) []string {
			t.Setenv(tlsCAVariable, cert)
			t.Setenv(tlsCertVariable, cert)
			t.Setenv(tlsKeyVariable, key)
			return nil
		},
		"no client certificate": func(_ *testing.T, cert, _ string) []string { return []string{"--tls-ca", cert} },
		"an unknown CA":         func(_ *testing.T, cert, key string) []string { return []string{"--tls-cert", cert, "--tls-key", key} },
	} {
		for _, command := range []string{"nodes", "guard"} { // one uses a Locker, the other does not
			t.Run(command+" "+name, func(t *testing.T) {
				node := tlsnode.Start(t)
				cert, key := node.Files(t)
				args := append([]string{command, "-n", "rediss://" + node.Addr, "--ttl", "1m", "--timeout", "1s"}, files(t, cert, key)...)
				call(args...) // the node answers no command; only the connection matters
				select {
				case got := <-node.Attempts:
					if (got.Err == nil) != (name == "flags" || name == "variables") {
						t.Errorf("got %+v", got)
					}
				case <-time.After(10 * time.Second):
					t.Error("no connection")
				}
			})
		}
	}
}

func TestTLS_RefusesWhatWouldBeLessSecure(t *testing.T) {
	node := tlsnode.Start(t)
	cert, key := node.Files(t)
	const secure, open = "rediss://127.0.0.1:1", "127.0.0.1:1"
	for complaint, args := range map[string][]string{
		"would not be encrypted":                              {"-n", open, "--tls-ca", cert},
		"skip_verify":                                         {"-n", secure + "?skip_verify=true"},
		"--tls-cert and --tls-key go together":                {"-n", secure, "--tls-cert", cert},
		"--tls-ca: " + key + " has no certificate":            {"-n", secure, "--tls-ca", key},
		"--tls-ca: open \"" + filepath.Join(key, "x") + "\":": {"-n", secure, "--tls-ca", filepath.Join(key, "x")},
		"--tls-cert, --tls-key: ":                             {"-n", secure, "--tls-cert", cert, "--tls-key", cert},
	} {
		call(append([]string{"nodes"}, args...)...).want(t, misused, "", complaint)
	}
}
