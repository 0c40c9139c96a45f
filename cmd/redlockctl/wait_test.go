package main

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// waiting starts a run on nodes that have just started, so that it waits for the lock longer than its --wait.
func waiting(t *testing.T, c *redisproc.Cluster, nohup bool) (p *exec.Cmd, out *output) {
	t.Helper()
	client := node(t, c, 0)
	others := func() int {
		list, err := client.ClientList(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(list, "\n") - 1
	}
	until(t, "nobody else is connected", func() bool { return others() == 0 })
	p, out = prepared(t, c, "--ttl", "10m", "run", "--name", "x", "--wait", "20s", "--", "echo", "it ran")
	if nohup {
		p.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, p.Path}, p.Args[1:]...)
		p.Path = "/bin/sh"
	}
	start(t, p)
	until(t, "it asks the nodes", func() bool { return others() > 0 })
	return p, out
}

func TestRun_ASignalEndsTheWait(t *testing.T) {
	c := servers(t)
	for _, sent := range [][]syscall.Signal{{syscall.SIGHUP}, {syscall.SIGQUIT}, {syscall.SIGINT}, {syscall.SIGHUP, syscall.SIGTERM}} {
		last := sent[len(sent)-1] // a wait under nohup ignores the one before
		t.Run(last.String(), func(t *testing.T) {
			signals := make(chan os.Signal, 1) // otherwise processes inherit the signals that the tests ignore
			signal.Notify(signals, last)
			defer signal.Stop(signals)
			p, out := waiting(t, c, len(sent) > 1)
			for _, s := range sent {
				signalTo(t, p.Process.Pid, s)
			}
			if err := p.Wait(); p.ProcessState.ExitCode() != noLease || strings.Contains(out.String(), "it ran") ||
				!strings.Contains(out.String(), last.String()) {
				t.Errorf("it ended with %v: %s", err, out)
			}
		})
	}
}
