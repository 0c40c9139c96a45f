package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/tlsnode"
)

func TestTLS_IsSpokenAsTheFilesSay(t *testing.T) {
	for name, files := range map[string]func(cert, key string) []string{
		"": func(cert, key string) []string {
			return []string{"--tls-ca", cert, "--tls-cert", cert, "--tls-key", key}
		},
		"no client certificate": func(cert, _ string) []string { return []string{"--tls-ca", cert} },
		"an unknown CA":         func(cert, key string) []string { return []string{"--tls-cert", cert, "--tls-key", key} },
		"nothing":               func(string, string) []string { return nil },
	} {
		for _, command := range []string{"nodes", "guard"} { // one uses a Locker, the other does not
			t.Run(command+" "+name, func(t *testing.T) {
				node := tlsnode.Start(t)
				cert, key := node.Files(t)
				// The node answers no command; only the connection matters.
				call(append([]string{command, "-n", "rediss://" + node.Addr, "--ttl", "1m", "--timeout", "1s"}, files(cert, key)...)...)
				select {
				case got := <-node.Attempts:
					if (got.Err == nil) != (name == "") {
						t.Errorf("got %+v", got)
					}
				case <-time.After(10 * time.Second):
					t.Error("no connection")
				}
			})
		}
	}
}

func TestTLS_TakesTheVariables(t *testing.T) {
	node := tlsnode.Start(t)
	cert, key := node.Files(t)
	t.Setenv(tlsCAVariable, cert)
	t.Setenv(tlsCertVariable, cert)
	t.Setenv(tlsKeyVariable, key)
	call("nodes", "-n", "rediss://"+node.Addr, "--ttl", "1m", "--timeout", "1s")
	select {
	case got := <-node.Attempts:
		if got.Err != nil {
			t.Error(got.Err)
		}
	case <-time.After(10 * time.Second):
		t.Error("no connection")
	}
}

func TestTLS_RefusesWhatWouldBeLessSecure(t *testing.T) {
	node := tlsnode.Start(t)
	cert, key := node.Files(t)
	const secure, open = "rediss://127.0.0.1:1", "127.0.0.1:1"
	for complaint, args := range map[string][]string{
		"would not be encrypted":                    {"-n", open, "--tls-ca", cert},
		"skip_verify":                               {"-n", secure + "?skip_verify=true"},
		"--tls-cert and --tls-key go together":      {"-n", secure, "--tls-cert", cert},
		"--tls-ca: " + key + " has no certificate":  {"-n", secure, "--tls-ca", key},
		"--tls-ca: open " + filepath.Join(key, "x"): {"-n", secure, "--tls-ca", filepath.Join(key, "x")},
		"--tls-cert, --tls-key: ":                   {"-n", secure, "--tls-cert", cert, "--tls-key", cert},
	} {
		call(append([]string{"nodes"}, args...)...).want(t, misused, "", complaint)
	}
}
