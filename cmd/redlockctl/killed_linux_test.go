package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// copied returns a copy of this program that every user may run. Its name is short enough for the system to show it
// in full.
func copied(t *testing.T, name string, mode os.FileMode) (file string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "redlockctl") // other users cannot read the directories of tests
	want.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	want.NoError(t, err)
	text, err := os.ReadFile(self)
	want.NoError(t, err)
	file = filepath.Join(dir, name)
	// A process that another test forks meanwhile would have the file open for writing, and then nobody may execute it.
	syscall.ForkLock.RLock()
	err = os.WriteFile(file, text, 0o700)
	syscall.ForkLock.RUnlock()
	want.NoError(t, err)
	for path, mode := range map[string]os.FileMode{dir: 0o755, file: mode} {
		want.NoError(t, os.Chmod(path, mode))
	}
	return file
}

// People end a program by its name, with killall or pkill -f. That must not kill the watchdog, which has to kill the
// processes of the command.
func TestWatchdog_HasAnotherName(t *testing.T) {
	name := fmt.Sprintf("rctl%d", os.Getpid())
	p, out := prepared(t, shared(t), unhurried(t, "sh", "-c", "echo up; exec sleep 1000")...)
	p.Path = copied(t, name, 0o755)
	p.Args[0] = p.Path
	start(t, p)
	until(t, "it is up", func() bool { return strings.Contains(out.String(), "up") })
	comms, n := processes(t, "comm"), 0
	for pid, line := range processes(t, "cmdline") {
		if strings.Contains(comms[pid], name) || strings.Contains(line, name) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d processes have its name, want redlockctl alone", n)
	}
}

// With asOtherUser in the environment, this binary, if it is set-uid root, acts as a command that ran sudo.
const asOtherUser = "REDLOCKCTL_TEST_AS_OTHER_USER"

func beOtherUser() {
	if err := syscall.Setuid(0); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = syscall.Setsid() // fails for the command itself, which leads a process group
	fmt.Println("up", os.Getpid())
	time.Sleep(time.Minute) // the test kills it
}

// otherUsers starts redlockctl as the user nobody. Its command is a process that runs as root, or
// the starter, which starts that process as its last argument. otherUsers waits until the process is up, and returns
// its pid.
func otherUsers(t *testing.T, c *redisproc.Cluster, starter ...string) (p *exec.Cmd, out *output, command int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a command of another user needs a set-uid program of root")
	}
	args := append([]string{"run", "--name", t.Name(), "--", "env", asOtherUser + "=1"}, starter...)
	p, out = prepared(t, c, append(args, copied(t, "sudo", 0o755|os.ModeSetuid))...)
	p.Path = copied(t, "redlockctl", 0o755)
	p.Dir = filepath.Dir(p.Path)
	p.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	start(t, p)
	until(t, "the command is up", func() bool {
		_, err := fmt.Sscanf(out.String()[max(strings.Index(out.String(), "up "), 0):], "up %d\n", &command)
		return err == nil
	})
	t.Cleanup(func() { _ = syscall.Kill(command, syscall.SIGKILL) })
	return p, out, command
}

func TestRun_WarnsOfACommandOfAnotherUserAndSaysThatItIsNotKilledWhenTheLockIsLost(t *testing.T) {
	c := shared(t)
	p, out, command := otherUsers(t, c)
	const warns = "the command runs as another user"
	until(t, "it warns", func() bool { return strings.Contains(out.String(), warns+": no signal") })
	signalTo(t, p.Process.Pid, syscall.SIGTERM)
	until(t, "it says that the signal is not passed on", func() bool { return strings.Count(out.String(), warns) == 2 })
	lose(t, c)
	timer := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() }) // redlockctl waits for the command
	_ = p.Wait()                                                             // the exit code is checked below
	timer.Stop()
	if err := syscall.Kill(command, 0); err != nil {
		t.Fatalf("the command is gone, the test shows nothing: %v", err)
	}
	if text := out.String(); p.ProcessState.ExitCode() != lostLease || !strings.Contains(text, "could NOT be killed") ||
		strings.Contains(text, "was killed") || strings.Contains(text, "was stopped") {
		t.Errorf("code %d: %s", p.ProcessState.ExitCode(), text)
	}
}
