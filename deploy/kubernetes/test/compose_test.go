//go:build unix

package test_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

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
			text := read(t, "../../compose/"+file)
			var c compose
			if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
				t.Fatal(err)
			}
			if len(c.Services) != nodes || len(c.Volumes) != nodes {
				t.Errorf("%d services, %d volumes", len(c.Services), len(c.Volumes))
			}
			var urls, arguments []string
			for name, s := range c.Services {
				port, inside, _ := strings.Cut(strings.TrimPrefix(s.Ports[0], "127.0.0.1:"), ":")
				urls = append(urls, "redis://localhost:"+port)
				if !strings.Contains(text, urls[len(urls)-1]) {
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
			// The installed server takes the arguments, and grants a lock.
			err := locker(t, time.Second, startNodes(t, nodes, arguments...).Addrs(), redlock.WithoutRestartGuard()).
				Do(t.Context(), "it works", func(context.Context, *redlock.Lease) error { return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
}
