package integration_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// No other system ends the children of a process that is killed.
func TestServers_DieWithAParentThatIsKilled(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1", "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	must(t, err, parent.Start())
	defer func() { _ = parent.Process.Kill() }() // if the test ends before it does so
	addr, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	node := dial(t, strings.TrimSpace(addr))
	node.asks("PING", "+PONG")

	must(t, parent.Process.Kill())
	if err := parent.Wait(); err == nil {
		t.Error("the parent ended by itself, not by the signal")
	}
	node.ends() // nobody else could end the node
}
