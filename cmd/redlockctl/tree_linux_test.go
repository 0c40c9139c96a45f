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
)

// daemon returns a command that leaves a process in its own session, without a parent and without the command's
// environment, and then continues. /proc shows the process under a name that looks like a zombie with another parent.
func daemon(t *testing.T, pids, more string) []string {
	return []string{"run", "--name", t.Name(), "--", "sh", "-c", fmt.Sprintf(
		`ln -s /bin/sh "%[1]s) Z 1 1 1"
		env -i "PATH=$PATH" setsid sh -c '"%[1]s) Z 1 1 1" -c "echo \$\$ >> %[1]s; while :; do sleep 0.05; done" &' <&- >&- 2>&- & wait
		while [ ! -s %[1]s ]; do sleep 0.01; done; %[2]s`, pids, more)}
}

func atWork(t *testing.T, pids string) func() bool {
	return func() bool { text, _ := os.ReadFile(pids); return len(text) > 0 && alive(t, pids) }
}

// wantNothingLeft waits for the end of redlockctl, and checks its exit code and message and that the processes are gone.
func wantNothingLeft(t *testing.T, p *exec.Cmd, out *output, code int, says, pids string) {
	t.Helper()
	if err := p.Wait(); p.ProcessState.ExitCode() != code || !strings.Contains(out.String(), says) {
		t.Errorf("it ended with %v: %s", err, out)
	}
	if alive(t, pids) {
		t.Error("processes of the command are at work without the lock")
	}
}

func TestRun_ADaemonEndsWithTheCommand(t *testing.T) {
	c := shared(t)
	pids := pidFile(t)
	on(c)(daemon(t, pids, "exit 3")...).want(t, 3, "", "")
	if text, err := os.ReadFile(pids); err != nil || len(text) == 0 {
		t.Fatalf("there was no daemon: %v", err)
	}
	if alive(t, pids) {
		t.Error("the daemon is at work without the lock")
	}
}

func TestRun_ADaemonIsKilledWhenTheLockIsLost(t *testing.T) {
	c := shared(t)
	pids := pidFile(t)
	p, out := process(t, c, daemon(t, pids, "exec sleep 20")...)
	until(t, "the daemon is at work", atWork(t, pids))
	lose(t, c)
	wantNothingLeft(t, p, out, lostLease, "was killed", pids)
}

func TestRun_ADaemonIsKilledWhenRedlockctlIs(t *testing.T) {
	c := shared(t)
	pids := pidFile(t)
	p, _ := process(t, c, daemon(t, pids, "exec sleep 20")...)
	until(t, "the daemon is at work", atWork(t, pids))
	signalTo(t, p.Process.Pid, syscall.SIGKILL)
	_ = p.Wait()
	until(t, "the daemon is gone", func() bool { return !alive(t, pids) })
	// The lease expires by itself.
	on(c)("run", "--name", t.Name(), "--wait", "10s", "--", "echo", "next").want(t, 0, "next", "")
}

// redlockctl adopts the orphans of a watchdog that was killed.
func TestRun_ADaemonIsKilledWhenTheWatchdogIs(t *testing.T) {
	c := shared(t)
	pids := pidFile(t)
	p, out := process(t, c, daemon(t, pids, "exec sleep 20")...)
	until(t, "the daemon is at work", atWork(t, pids))
	signalTo(t, watchdogOf(t, p.Process.Pid), syscall.SIGKILL)
	wantNothingLeft(t, p, out, failed, "the watchdog has ended", pids)
}

// A process of another user is named, whether it has left the process group or not.
func TestRun_SaysThatADescendantOfAnotherUserIsNotKilled(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, c *redisproc.Cluster, p *exec.Cmd){
		"when the lock is lost":     func(t *testing.T, c *redisproc.Cluster, _ *exec.Cmd) { lose(t, c) },
		"when redlockctl is killed": func(t *testing.T, _ *redisproc.Cluster, p *exec.Cmd) { signalTo(t, p.Process.Pid, syscall.SIGKILL) },
		"when the watchdog is killed": func(t *testing.T, _ *redisproc.Cluster, p *exec.Cmd) {
			signalTo(t, watchdogOf(t, p.Process.Pid), syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := shared(t)
			p, out, other := otherUsers(t, c, "sh", "-c", `"$0" & wait`)
			end(t, c, p)
			until(t, "it says so", func() bool {
				return strings.Contains(out.String(), fmt.Sprintf(`could NOT be killed (process %d, "sudo": operation not permitted`, other))
			})
			if err := syscall.Kill(other, 0); err != nil {
				t.Fatalf("the process is gone, the test shows nothing: %v", err)
			}
			if strings.Contains(out.String(), "was killed") || strings.Contains(out.String(), "was stopped") {
				t.Error(out)
			}
		})
	}
}

// The watchdog adopts orphans, and leaves no zombies. The command gets none of the watchdog's files.
func TestWatchdog_ReapsAndKeepsItsFiles(t *testing.T) {
	r := on(shared(t))("run", "--name", t.Name(), "--", "sh", "-c",
		`(sh -c 'exit 3' & exec true); sleep 1; cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z $PPID "; [ -e /proc/$$/fd/3 -o -e /proc/$$/fd/4 ]; echo $?`)
	r.want(t, 0, "0\n1\n", "")
}

// forker keeps starting itself in a new session, and ends, until a file exists.
const forker = `#!/usr/bin/perl
use POSIX;
for (my $i = 0; !-e "$0.end"; $i++) {
	POSIX::setsid();
	syswrite(STDOUT, "forking\n") if $i == 20;
	fork and POSIX::_exit(0);
}
`

// A command may start processes faster than they are killed. Then redlockctl says that some may be left; otherwise
// none is left.
func TestRun_ProcessesThatForkWithoutEndAreKilledOrNamedWhenTheLockIsLost(t *testing.T) {
	c := shared(t)
	script := filepath.Join(t.TempDir(), "forker")
	if err := os.WriteFile(script, []byte(forker), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(script+".end", nil, 0o600); err != nil {
			t.Error(err)
		}
		until(t, "all have ended", func() bool { return !anyRuns(t, script) })
	})
	p, out := process(t, c, "run", "--name", t.Name(), "--", "sh", "-c", `trap '' TERM; "$0" & sleep 60`, script)
	until(t, "they fork", func() bool { return strings.Contains(out.String(), "forking") })
	lose(t, c)
	lost := time.Now()
	_ = p.Wait() // the exit code is checked below
	if took := time.Since(lost); took > ttl+4*killTimeout {
		t.Errorf("it took %v", took)
	}
	left, said := anyRuns(t, script), out.String()
	killed, named := strings.Contains(said, "was killed"), strings.Contains(said, "could NOT be killed")
	if code := p.ProcessState.ExitCode(); code != lostLease || killed == named || left && !named {
		t.Errorf("code %d, and some are left: %v: %s", code, left, said)
	}
}

// anyRuns reports whether a process has a script among its arguments. It looks for a while, because it may miss a
// script between two forks.
func anyRuns(t *testing.T, script string) bool {
	t.Helper()
	for range 20 {
		for _, line := range processes(t, "cmdline") {
			if strings.Contains(line, script) {
				return true
			}
		}
	}
	return false
}
