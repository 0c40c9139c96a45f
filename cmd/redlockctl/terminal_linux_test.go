package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// terminal opens a new terminal, and returns both ends.
func terminal(t *testing.T) *os.File {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	want.NoError(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	want.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	want.NoError(t, err)
	end, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	want.NoError(t, err)
	t.Cleanup(func() { _ = end.Close() })
	return end
}

// The command's group is not the terminal's: reading would stop the command, and redlockctl would extend the lease
// forever.
func TestRun_TheCommandDoesNotReadFromATerminal(t *testing.T) {
	p, out := prepared(t, shared(t), "run", "--name", t.Name(), "--", "sh", "-c", "cat; echo read")
	p.Stdin = terminal(t)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	start(t, p)
	until(t, "it has read to the end", func() bool { return strings.Contains(out.String(), "read") })
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, out)
	}
}
