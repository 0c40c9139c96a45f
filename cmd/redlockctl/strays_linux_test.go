package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// daemon is a command that leaves a process in a session of its own, without a parent, and then does more.
func daemon(pids, more string) []string {
	return []string{"run", "--name", "x", "--", "sh", "-c", fmt.Sprintf(
		`setsid sh -c 'sh -c "echo \$\$ >> %[1]s; while :; do sleep 0.05; done" &' <&- >&- 2>&- & wait
		while [ ! -s %[1]s ]; do sleep 0.01; done; %[2]s`, pids, more)}
}

func atWork(t *testing.T, pids string) func() bool {
	return func() bool { text, _ := os.ReadFile(pids); return len(text) > 0 && alive(t, pids) }
}

func TestRun_ADaemonEndsWithTheCommand(t *testing.T) {
	c := ready(t, servers(t))
	pids := pidFile(t)
	on(c)(daemon(pids, "exit 3")...).want(t, 3, "", "")
	if text, err := os.ReadFile(pids); err != nil || len(text) == 0 {
		t.Fatalf("there was no daemon: %v", err)
	}
	if alive(t, pids) {
		t.Error("the daemon is at work without the lock")
	}
}

func TestRun_ADaemonIsKilledWhenTheLockIsLost(t *testing.T) {
	c := ready(t, servers(t))
	pids := pidFile(t)
	p, out := process(t, c, daemon(pids, "exec sleep 20")...)
	until(t, "the daemon is at work", atWork(t, pids))
	forget(t, c)
	if err := p.Wait(); p.ProcessState.ExitCode() != lostLease || !strings.Contains(out.String(), "was killed") {
		t.Errorf("it ended with %v: %s", err, out)
	}
	if alive(t, pids) {
		t.Error("the daemon is at work without the lock")
	}
}

func TestRun_ADaemonIsKilledWhenRedlockctlIs(t *testing.T) {
	c := ready(t, servers(t))
	pids := pidFile(t)
	p, _ := process(t, c, daemon(pids, "exec sleep 20")...)
	until(t, "the daemon is at work", atWork(t, pids))
	signalTo(t, p.Process.Pid, syscall.SIGKILL)
	_ = p.Wait()
	until(t, "the daemon is gone", func() bool { return !alive(t, pids) })
}

// No mark is in every environment.
func TestKillStrays_OfNoMarkKillsNothing(t *testing.T) {
	if n := killStrays(""); n != 0 { // it would have killed the test
		t.Errorf("it killed %d processes", n)
	}
}
