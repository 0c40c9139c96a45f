package main

import (
	"encoding/json"
	"errors"
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
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// A stopped redlockctl does not extend the lease, so the command must end before the lease expires on the nodes.
func TestRun_TheCommandOfAStoppedRedlockctlEndsBeforeTheLease(t *testing.T) {
	c := shared(t)
	pids, beats := pidFile(t), filepath.Join(t.TempDir(), "beats")
	p, out := process(t, c, "run", "--name", t.Name(), "--grace", (ttl / 2).String(), "--", "sh", "-c", fmt.Sprintf(
		`trap '' TERM; echo $$ > %s; while :; do date +%%s%%N >> %s; sleep 0.01; done`, pids, beats))
	until(t, "it is at work", func() bool { return lastBeat(t, beats) != time.Time{} })
	signalTo(t, p.Process.Pid, syscall.SIGSTOP)
	free := freeAt(t, c, t.Name())
	until(t, "the command is killed", func() bool { return !alive(t, pids) })
	if late := lastBeat(t, beats).Sub(free); late >= 0 {
		t.Errorf("it was at work %v after others could have the lock", late)
	}
	signalTo(t, p.Process.Pid, syscall.SIGCONT)
	if err := p.Wait(); p.ProcessState.ExitCode() != lostLease || !strings.HasPrefix(out.String(), "redlockctl: the ") {
		t.Errorf("it ended with %v: %s", err, out)
	}
	on(c)("run", "--name", t.Name(), "--wait", "10s", "--", "echo", "next").want(t, 0, "next", "")
}

// redlockctl does not wait for a stopped watchdog. Otherwise it would hold the lock until somebody continues the watchdog.
func TestRun_EndsThoughTheWatchdogIsStopped(t *testing.T) {
	p, out := prepared(t, shared(t), unhurried(t, "sh", "-c", "echo up; read end; exit 7")...)
	in, err := p.StdinPipe()
	want.NoError(t, err)
	start(t, p)
	until(t, "the command is up", func() bool { return strings.Contains(out.String(), "up") })
	signalTo(t, watchdogOf(t, p.Process.Pid), syscall.SIGSTOP)
	want.NoError(t, in.Close())
	timer := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	if err := p.Wait(); p.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended with %v: %s", err, out)
	}
}

// The watchdog kills the command, and redlockctl continues before the lease ends. It must not report the end as the
// command's own.
func TestRun_ACommandThatTheWatchdogHasKilledHasLostTheLock(t *testing.T) {
	pids := pidFile(t)
	p, out := process(t, shared(t), unhurried(t, "sh", "-c", fmt.Sprintf(`echo $$ > %s; exec sleep 1000`, pids))...)
	until(t, "it is at work", func() bool { return alive(t, pids) })
	signalTo(t, p.Process.Pid, syscall.SIGSTOP)
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", watchdogOf(t, p.Process.Pid), ordersFile), os.O_WRONLY, 0)
	want.NoError(t, err)
	if _, err := fmt.Fprintln(pipe, orderWatch, int64(sinceBoot())); err != nil {
		t.Fatal(err)
	}
	_ = pipe.Close()
	until(t, "the command is killed", func() bool { return !alive(t, pids) })
	signalTo(t, p.Process.Pid, syscall.SIGCONT)
	if err := p.Wait(); p.ProcessState.ExitCode() != lostLease || !strings.Contains(out.String(), "was held up until") {
		t.Errorf("it ended with %v: %s", err, out)
	}
}

func TestWatchdog_KillsAtTheLastInstantItWasSent(t *testing.T) {
	past, future := sinceBoot()-time.Millisecond, sinceBoot()+time.Hour
	for name, test := range map[string]struct {
		ends []time.Duration
		last string
		open bool // the pipe stays open
		code int
		dead bool
	}{
		"past":                     {ends: []time.Duration{future, past}, open: true, code: lostLease, dead: true},
		"extended":                 {ends: []time.Duration{past, future}, open: true},
		"extended, and the end":    {ends: []time.Duration{past, future}, dead: true},
		"an order":                 {ends: []time.Duration{future}, last: orderKill + "\n", open: true, dead: true},
		"half of an order is sent": {ends: []time.Duration{future}, last: orderWatch + " 7", dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			seconds := "20"
			if !test.dead {
				seconds = "0.3"
			}
			var text strings.Builder
			fmt.Fprintf(&text, "%s %d %q %q %q\n", orderRun, test.ends[0], "/bin/sleep", "sleep\x00"+seconds, "A=b")
			for _, at := range test.ends[1:] {
				fmt.Fprintln(&text, orderWatch, int64(at))
			}
			watchdog, orders, reports := bareWatchdog(t)
			if _, err := orders.WriteString(text.String() + test.last); err != nil {
				t.Fatal(err)
			}
			if !test.open {
				_ = orders.Close()
			}
			_ = watchdog.Wait() // the exit code is checked below
			if code := watchdog.ProcessState.ExitCode(); code != test.code {
				t.Errorf("its code is %d, want %d", code, test.code)
			}
			var first, last report
			all := json.NewDecoder(reports)
			if err := errors.Join(all.Decode(&first), all.Decode(&last)); err != nil {
				t.Fatal(err)
			}
			want := report{Final: true, Ended: true, Late: test.code == lostLease}
			if test.dead {
				want.Status = syscall.WaitStatus(syscall.SIGKILL)
			}
			if first.PID == 0 || last != want {
				t.Errorf("it reports %+v and %+v, want %+v", first, last, want)
			}
		})
	}
}

// bareWatchdog starts a watchdog without an order.
func bareWatchdog(t *testing.T) (watchdog *exec.Cmd, orders, reports *os.File) {
	t.Helper()
	self, err := os.Executable()
	want.NoError(t, err)
	read, orders, err := os.Pipe()
	want.NoError(t, err)
	reports, says, err := os.Pipe()
	want.NoError(t, err)
	watchdog = exec.Command(self, watchdogName)
	watchdog.ExtraFiles = []*os.File{read, says}
	start(t, watchdog)
	_, _ = read.Close(), says.Close()
	t.Cleanup(func() { _, _ = orders.Close(), reports.Close() })
	return watchdog, orders, reports
}

func signalTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("%v to %d: %v", s, pid, err)
	}
}

// lastBeat returns the last whole line of a file of instants, or zero if there is none.
func lastBeat(t *testing.T, file string) time.Time {
	t.Helper()
	text, _ := os.ReadFile(file) // not there yet
	lines := strings.Split(string(text), "\n")
	if len(lines) < 2 {
		return time.Time{}
	}
	last, err := strconv.ParseInt(lines[len(lines)-2], 10, 64)
	want.NoError(t, err)
	return time.Unix(0, last)
}

// freeAt returns when the lock will have expired on a majority of nodes if nobody extends it, at the latest.
func freeAt(t *testing.T, c *redisproc.Cluster, name string) time.Time {
	t.Helper()
	held := decode[[]struct {
		Left float64 `json:"lease_ms"`
	}](t, on(c)("lock", name, "-o", "json"))
	return time.Now().Add(time.Duration(held[0].Left) * time.Millisecond)
}

// watchdogOf returns the watchdog that a process has started.
func watchdogOf(t *testing.T, parent int) int {
	t.Helper()
	stats := processes(t, "stat")
	for pid, line := range processes(t, "cmdline") {
		_, rest, _ := strings.Cut(stats[pid], ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && strings.Contains(line, watchdogName) {
			return pid
		}
	}
	t.Fatal("there is no watchdog")
	return 0
}

// processes returns the text of a file in /proc for each process. It is empty for one that has ended meanwhile.
func processes(t *testing.T, file string) map[int]string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	want.NoError(t, err)
	texts := make(map[int]string, len(all))
	for _, folder := range all {
		pid, err := strconv.Atoi(filepath.Base(folder))
		want.NoError(t, err)
		text, _ := os.ReadFile(filepath.Join(folder, file))
		texts[pid] = string(text)
	}
	return texts
}
