package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// copied is this program as a file of its own that every user may run. The name is not longer than the system shows.
func copied(t *testing.T, name string, mode os.FileMode) (file string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "redlockctl") // those of the test are closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o755, file: mode} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// killByName kills whatever killall, pkill or pkill -f of a name would, and returns how many processes that were.
func killByName(t *testing.T, name string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		comm, _ := os.ReadFile(file) // it may have ended
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if !strings.Contains(string(comm), name) && !strings.Contains(string(line), name) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		signalTo(t, pid, syscall.SIGKILL)
		n++
	}
	return n
}

// People end a program by its name. The guard must not be hit: it has to end what the command has started.
func TestRun_NothingIsLeftWhenItIsKilledByItsName(t *testing.T) {
	c := ready(t, servers(t))
	pids, name := pidFile(t), fmt.Sprintf("rctl%d", os.Getpid())
	p, _ := prepared(t, c, "run", "--name", "x", "--", "sh", "-c",
		fmt.Sprintf(`sh -c 'echo $$ >> %[1]s; while :; do sleep 0.05; done' & echo $$ >> %[1]s; wait`, pids))
	p.Path = copied(t, name, 0o755)
	p.Args[0] = p.Path
	start(t, p)
	until(t, "both are at work", func() bool {
		text, _ := os.ReadFile(pids) // not there yet
		return len(strings.Fields(string(text))) == 2
	})
	if n := killByName(t, name); n != 1 {
		t.Errorf("%d processes have its name, want redlockctl alone", n)
	}
	_ = p.Wait()
	until(t, "both are gone", func() bool { return !alive(t, pids) })
}

// asOtherUser has this binary, if it belongs to root and is set-uid, be a command that ran sudo.
const asOtherUser = "REDLOCKCTL_TEST_AS_OTHER_USER"

func beOtherUser() {
	if err := syscall.Setuid(0); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = syscall.Setsid() // the command itself cannot: it leads a process group
	fmt.Println("up", os.Getpid())
	time.Sleep(time.Minute) // the test kills it
}

// otherUsers starts redlockctl as nobody, with a command that runs as root, or what starts that as its last argument. It
// returns the pid of what runs as root once it is up.
func otherUsers(t *testing.T, c *redisproc.Cluster, starter ...string) (p *exec.Cmd, out *output, command int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a command of another user needs a set-uid program of root")
	}
	args := append([]string{"run", "--name", "x", "--", "env", asOtherUser + "=1"}, starter...)
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

// wantNotKilled fails the test unless redlockctl has ended, soon, and tells the truth.
func wantNotKilled(t *testing.T, p *exec.Cmd, out *output, command int) {
	t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() }) // it waits for the command
	_ = p.Wait()                                                             // its code is looked at
	timer.Stop()
	if err := syscall.Kill(command, 0); err != nil {
		t.Fatalf("the command is gone, the test shows nothing: %v", err)
	}
	if text := out.String(); p.ProcessState.ExitCode() != lostLease || !strings.Contains(text, "could NOT be killed") ||
		strings.Contains(text, "was killed") || strings.Contains(text, "was stopped") {
		t.Errorf("code %d: %s", p.ProcessState.ExitCode(), text)
	}
}

func TestRun_SaysThatACommandOfAnotherUserIsNotKilledWhenTheLockIsLost(t *testing.T) {
	c := ready(t, servers(t))
	p, out, command := otherUsers(t, c)
	forget(t, c)
	wantNotKilled(t, p, out, command)
}

func TestRun_SaysThatACommandOfAnotherUserIsNotKilledWhenNodesAreAway(t *testing.T) {
	c := ready(t, servers(t))
	p, out, command := otherUsers(t, c)
	for i := range 2 {
		if err := c.Node(i).Kill(); err != nil {
			t.Fatal(err)
		}
	}
	wantNotKilled(t, p, out, command)
}

func TestRun_WarnsEarlyOfACommandOfAnotherUser(t *testing.T) {
	p, out, _ := otherUsers(t, ready(t, servers(t)))
	until(t, "it warns", func() bool { return strings.Contains(out.String(), "the command runs as another user: no signal") })
	signalTo(t, p.Process.Pid, syscall.SIGTERM)
	until(t, "it says that the signal is not passed on", func() bool {
		return strings.Count(out.String(), "the command runs as another user") == 2
	})
}

// Redlockctl is killed, and its guard can do nothing: it says so.
func TestGuard_SaysThatACommandOfAnotherUserIsNotKilled(t *testing.T) {
	p, out, command := otherUsers(t, ready(t, servers(t)))
	signalTo(t, p.Process.Pid, syscall.SIGKILL)
	until(t, "the guard says so", func() bool { return strings.Contains(out.String(), "could NOT be killed") })
	if err := syscall.Kill(command, 0); err != nil {
		t.Fatalf("the command is gone, the test shows nothing: %v", err)
	}
}
