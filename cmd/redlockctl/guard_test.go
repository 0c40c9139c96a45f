package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// Redlockctl is stopped and extends the lease no more: the command has done its last before the nodes forget the lease.
func TestRun_TheCommandOfAStoppedRedlockctlEndsBeforeTheLease(t *testing.T) {
	c := ready(t, servers(t))
	pids, beats := pidFile(t), filepath.Join(t.TempDir(), "beats")
	p, out := process(t, c, "run", "--name", "x", "--", "sh", "-c", fmt.Sprintf(
		`trap '' TERM; echo $$ > %s; while :; do date +%%s%%N >> %s; sleep 0.01; done`, pids, beats))
	until(t, "it is at work", func() bool { return lastBeat(t, beats) != time.Time{} })
	signalTo(t, p.Process.Pid, syscall.SIGSTOP)
	free := freeAt(t, c, "x")
	until(t, "the command is killed", func() bool { return !alive(t, pids) })
	if late := lastBeat(t, beats).Sub(free); late >= 0 {
		t.Errorf("it was at work %v after others could have the lock", late)
	}
	signalTo(t, p.Process.Pid, syscall.SIGCONT)
	if err := p.Wait(); p.ProcessState.ExitCode() != lostLease || !strings.HasPrefix(out.String(), "redlockctl: the ") {
		t.Errorf("it ended with %v: %s", err, out)
	}
	on(c)("run", "--name", "x", "--wait", "10s", "--", "echo", "next").want(t, 0, "next", "")
}

// Nobody would stop the command any more if redlockctl were killed or stopped.
func TestRun_StopsTheCommandWhenTheGuardHasEnded(t *testing.T) {
	c := ready(t, servers(t))
	pids := pidFile(t)
	p, out := process(t, c, "run", "--name", "x", "--", "sh", "-c", fmt.Sprintf(`echo $$ > %s; exec sleep 20`, pids))
	until(t, "it is at work", func() bool { return alive(t, pids) })
	signalTo(t, guardOf(t, p.Process.Pid), syscall.SIGKILL)
	if err := p.Wait(); p.ProcessState.ExitCode() != failed || !strings.Contains(out.String(), "the guard has ended") {
		t.Errorf("it ended with %v: %s", err, out)
	}
	if alive(t, pids) {
		t.Error("the command is left")
	}
}

// Nobody waits for a guard that was stopped: the lock would be held until somebody continues it.
func TestRun_EndsThoughTheGuardIsStopped(t *testing.T) {
	c := ready(t, servers(t))
	p, out := prepared(t, c, "run", "--name", "x", "--", "sh", "-c", "echo up; read end; exit 7")
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, p)
	until(t, "the command is up", func() bool { return strings.Contains(out.String(), "up") })
	signalTo(t, guardOf(t, p.Process.Pid), syscall.SIGSTOP)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	if err := p.Wait(); p.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended with %v: %s", err, out)
	}
}

// The guard has killed it, and redlockctl wakes while the lease lasts: the end of the command is not its own.
func TestRun_ACommandThatTheGuardHasKilledHasLostTheLock(t *testing.T) {
	c := servers(t)
	pids := pidFile(t)
	p, out := process(t, c, "run", "--name", "x", "--ttl", "10s", "--wait", "1m", "--", "sh", "-c",
		fmt.Sprintf(`echo $$ > %s; exec sleep 1000`, pids))
	until(t, "it is at work", func() bool { return alive(t, pids) })
	leader, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	signalTo(t, p.Process.Pid, syscall.SIGSTOP)
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", guardOf(t, p.Process.Pid)), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(pipe, strings.TrimSpace(string(leader)), int64(sinceBoot()), newMark()); err != nil {
		t.Fatal(err)
	}
	_ = pipe.Close()
	until(t, "the command is killed", func() bool { return !alive(t, pids) })
	signalTo(t, p.Process.Pid, syscall.SIGCONT)
	if err := p.Wait(); p.ProcessState.ExitCode() != lostLease || !strings.Contains(out.String(), "held up") {
		t.Errorf("it ended with %v: %s", err, out)
	}
}

func TestGuard_KillsAtTheLastInstantItWasTold(t *testing.T) {
	past, future := sinceBoot()-time.Millisecond, sinceBoot()+time.Hour
	for name, test := range map[string]struct {
		told []time.Duration
		last string
		open bool // the pipe stays so
		code int
		dead bool
	}{
		"past":                    {told: []time.Duration{future, past}, open: true, code: lostLease, dead: true},
		"extended, and all well":  {told: []time.Duration{past, future}, last: allWell + "\n"},
		"extended, and the end":   {told: []time.Duration{past, future}, dead: true},
		"it is told half of that": {told: []time.Duration{future}, last: "7", dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			victim := exec.Command("sleep", "20")
			victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			start(t, victim)
			var text strings.Builder
			for _, at := range test.told {
				_, _ = fmt.Fprintln(&text, victim.Process.Pid, int64(at), newMark()) // it never fails
			}
			told, pipe, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pipe.WriteString(text.String() + test.last); err != nil {
				t.Fatal(err)
			}
			if !test.open {
				_ = pipe.Close()
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			guard := exec.Command(self, guardName)
			guard.Stdin = told
			start(t, guard)
			_ = guard.Wait() // its code is looked at
			if code := guard.ProcessState.ExitCode(); code != test.code {
				t.Errorf("its code is %d, want %d", code, test.code)
			}
			_ = told.Close()
			_ = pipe.Close()
			if !test.dead {
				signalTo(t, victim.Process.Pid, syscall.SIGTERM) // a dead one would not end by it
			}
			_ = victim.Wait()
			if by := victim.ProcessState.Sys().(syscall.WaitStatus).Signal(); (by == syscall.SIGKILL) != test.dead {
				t.Errorf("the command died of %v", by)
			}
		})
	}
}

func signalTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("%v to %d: %v", s, pid, err)
	}
}

// lastBeat is the last whole line of a file of instants; zero where there is none.
func lastBeat(t *testing.T, file string) time.Time {
	t.Helper()
	text, _ := os.ReadFile(file) // not there yet
	lines := strings.Split(string(text), "\n")
	if len(lines) < 2 {
		return time.Time{}
	}
	last, err := strconv.ParseInt(lines[len(lines)-2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(0, last)
}

// freeAt is when a majority of nodes will have forgotten a lock that nobody extends.
func freeAt(t *testing.T, c *redisproc.Cluster, name string) time.Time {
	t.Helper()
	var all []time.Time
	for _, addr := range c.Addrs() {
		client := redis.NewClient(&redis.Options{Addr: addr})
		now := time.Now()
		left, err := records.Default.LeftOn(t.Context(), name, client)
		_ = client.Close()
		if err != nil {
			t.Fatalf("%s does not say how long the lock lasts: %v", addr, err)
		}
		all = append(all, now.Add(max(left, 0))) // a node that was too late to grant it is free already
	}
	slices.SortFunc(all, time.Time.Compare)
	return all[len(all)/2]
}

// guardOf finds the guard that a process has started.
func guardOf(t *testing.T, parent int) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		stat, _ := os.ReadFile(file) // it may have ended
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && strings.Contains(string(line), guardName) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("there is no guard")
	return 0
}
