package test_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// compose has the fields of https://github.com/compose-spec/compose-spec that the files use.
type compose struct {
	Services map[string]struct {
		Image   string   `json:"image"`
		Command []string `json:"command"`
		Ports   []string `json:"ports"`
		Volumes []string `json:"volumes"`
	} `json:"services"`
	Volumes map[string]any `json:"volumes"`
}

// Each file starts as many nodes as its name says. They are masters with separate data. The file's comment has their URLs.
func TestCompose_StartsIndependentNodes(t *testing.T) {
	for file, nodes := range map[string]int{"one.yaml": 1, "three.yaml": 3} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../compose", file))
			if err != nil {
				t.Fatal(err)
			}
			var c compose
			if err := yaml.UnmarshalStrict(text, &c); err != nil {
				t.Fatal(err)
			}
			if len(c.Services) != nodes || len(c.Volumes) != nodes {
				t.Errorf("%d services, %d volumes", len(c.Services), len(c.Volumes))
			}
			var urls, arguments []string
			for name, s := range c.Services {
				port, inside, _ := strings.Cut(strings.TrimPrefix(s.Ports[0], "127.0.0.1:"), ":")
				urls = append(urls, "redis://localhost:"+port)
				if !strings.Contains(string(text), urls[len(urls)-1]) {
					t.Errorf("the comment does not name %s", urls[len(urls)-1])
				}
				if _, own := c.Volumes[name]; !own || s.Volumes[0] != name+":/data" || inside != "6379" || len(s.Ports) != 1 {
					t.Errorf("%s: ports %v, volumes %v", name, s.Ports, s.Volumes)
				}
				if s.Command[0] != "valkey-server" || !strings.HasPrefix(s.Image, "valkey/valkey:") {
					t.Errorf("%s: %s runs %v", name, s.Image, s.Command)
				}
				if arguments != nil && fmt.Sprint(arguments) != fmt.Sprint(s.Command[1:]) {
					t.Errorf("%s differs: %v", name, s.Command)
				}
				arguments = s.Command[1:]
			}
			locks(t, nodes, arguments)
		})
	}
}

// locks starts the installed server with the arguments, and takes a lock.
func locks(t *testing.T, n int, arguments []string) {
	t.Helper()
	cluster, err := redisproc.Start(t.Context(), n, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	locker, err := redlock.Open(cluster.Addrs(), redlock.WithoutRestartGuard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locker.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	lease, err := locker.Acquire(t.Context(), "it works")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
