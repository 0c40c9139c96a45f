package redisproc_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

func TestNodes_OutliveTheThreadThatAskedForThem(t *testing.T) {
	var c *redisproc.Cluster
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // and no unlock: the thread ends with the goroutine
		c, err = redisproc.Start(t.Context(), 1)
	})
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()

	node := dial(t, c.Node(0).Addr())
	node.silent()
	node.send("PING")
	node.wants("+PONG")
}

func TestNodes_DieWithAParentThatIsKilled(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1", "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Process.Kill() }() // where the test ends before it does so
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	node := dial(t, strings.TrimSpace(addr))
	node.send("PING")
	node.wants("+PONG")

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent ended by itself, not by the signal")
	}

	// The end of the connection is the end of the node, since nobody else could end it.
	if _, err := node.line(long); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("connection to the node: %v, want its end", err)
	}
}
