package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// newTerminal opens a terminal, and returns both of its ends.
func newTerminal(t *testing.T) (end, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	want.NoError(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	want.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	want.NoError(t, err)
	end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	want.NoError(t, err)
	t.Cleanup(func() { _ = end.Close() })
	return end, screen
}

// The command's group is not the terminal's: reading would stop the command, and redlockctl would extend the lease
// forever.
func TestRun_TheCommandDoesNotReadFromATerminal(t *testing.T) {
	p, out := prepared(t, shared(t), "run", "--name", t.Name(), "--", "sh", "-c", "cat; echo read")
	p.Stdin, _ = newTerminal(t)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	start(t, p)
	until(t, "it has read to the end", func() bool { return strings.Contains(out.String(), "read") })
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, out)
	}
}

// In a terminal a table has at most its width, and all of its texts elsewhere.
func TestJobs_FitTheTerminal(t *testing.T) {
	long := scheduler.Job{Name: "a job with a name " + strings.Repeat("x", 120), Spec: "@yearly",
		Run: func(context.Context, scheduler.Run) error { return errors.New(strings.Repeat("no paper ", 90)) }}
	c := ready(t, servers(t))
	led(t, c, long)
	on(c)("trigger", long.Name, "--wait", "1m").want(t, failed, "", "")
	args := []string{"-n", strings.Join(c.Addrs(), ","), "--ttl", ttl.String(), "-e", "billing", "jobs"}
	for _, columns := range []uint16{80, 120} {
		end, screen := newTerminal(t)
		want.NoError(t, unix.IoctlSetWinsize(int(end.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
		if code := execute(t.Context(), args, streams{strings.NewReader(""), end, io.Discard}); code != 0 {
			t.Fatalf("it exited with %d", code)
		}
		// A read gives what has arrived, perhaps one line of several; all of it is there once the end is closed.
		want.NoError(t, end.Close())
		text, err := io.ReadAll(screen)
		want.Err(t, err, syscall.EIO)
		lines := strings.Split(strings.TrimSpace(string(text)), "\r\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[1], "a job with a name xxx") || !strings.Contains(lines[1], "no paper") {
			t.Errorf("%d columns: %q", columns, lines)
		}
		for _, line := range lines {
			if wideOf(line) > int(columns) {
				t.Errorf("%d columns: %q has %d", columns, line, wideOf(line))
			}
		}
	}
	on(c)("jobs").want(t, 0, strings.TrimSpace(strings.Repeat("no paper ", 90)), "")
}
