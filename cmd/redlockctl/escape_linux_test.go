package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// With asHider in the environment, this binary is a command that hides in the named way; with asHidersChild, it is
// the child of that command.
const (
	asHider       = "REDLOCKCTL_TEST_AS_HIDER"
	asHidersChild = "REDLOCKCTL_TEST_AS_CHILD_OF_HIDER"
)

// The ways to hide.
const (
	undumpable = "undumpable" // its files in /proc belong to root
	renamed    = "renamed"    // /proc shows another name and other arguments
)

// beHider hides this process, and starts a child that hides too, in its own session. Both ignore SIGTERM.
func beHider(way string) {
	if os.Getenv(asHidersChild) == "" {
		child := exec.Command("/proc/self/exe")
		child.Env, child.Stdout = append(os.Environ(), asHidersChild+"=1"), os.Stdout
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			fmt.Println(err)
			return
		}
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	switch way {
	case undumpable:
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			fmt.Println(err)
			return
		}
	case renamed:
		for _, arg := range os.Args { // /proc shows the arguments from this memory
			copy(unsafe.Slice(unsafe.StringData(arg), len(arg)), strings.Repeat("1 (x) Z 1 ", len(arg)))
		}
		setProcessName("x) Z 1 1 1 1")
	}
	fmt.Printf("hidden %d\n", os.Getpid())
	time.Sleep(time.Minute) // the test kills it
}

// A process can change what /proc shows about it, but not its parent and its state.
func TestRun_ProcessesThatHideAreKilledWhenTheLockIsLost(t *testing.T) {
	for _, way := range []string{undumpable, renamed} {
		t.Run(way, func(t *testing.T) {
			c := shared(t)
			p, out := prepared(t, c, "run", "--name", t.Name(), "--", "env", asHider+"="+way, copied(t, "hider", 0o755))
			if os.Getuid() == 0 { // nothing is hidden from root
				p.Path = copied(t, "redlockctl", 0o755)
				p.Dir = filepath.Dir(p.Path)
				p.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
			}
			start(t, p)
			until(t, "both have hidden", func() bool { return strings.Count(out.String(), "hidden ") == 2 })
			var pids []string
			for line := range strings.Lines(out.String()) {
				if pid, is := strings.CutPrefix(strings.TrimSpace(line), "hidden "); is {
					pids = append(pids, pid)
				}
			}
			file := pidFile(t)
			if err := os.WriteFile(file, []byte(strings.Join(pids, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			if !alive(t, file) {
				t.Fatal("they are gone, the test shows nothing")
			}
			lose(t, c)
			wantNothingLeft(t, p, out, lostLease, "was killed", file)
		})
	}
}

// forkers are scripts that keep starting themselves in a new session until a file exists. Each prints a line when the
// first few have started.
var forkers = map[string]string{
	"and live on": `#!/bin/sh
[ -e "$0.end" ] && exit
[ $1 -eq 20 ] && echo forking
setsid "$0" $(($1 + 1)) &
exec sleep 0.2
`,
	"and end, faster than they are found": `#!/usr/bin/perl
use POSIX;
for (my $i = 0; !-e "$0.end"; $i++) {
	POSIX::setsid();
	syswrite(STDOUT, "forking\n") if $i == 20;
	fork and POSIX::_exit(0);
}
`,
}

// A command may start processes faster than they are killed. Then redlockctl says that some may be left; otherwise
// none is left.
func TestRun_ProcessesThatForkWithoutEndAreKilledOrNamedWhenTheLockIsLost(t *testing.T) {
	for name, text := range forkers {
		t.Run(name, func(t *testing.T) {
			c := shared(t)
			script := filepath.Join(t.TempDir(), "forker")
			if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.WriteFile(script+".end", nil, 0o600); err != nil {
					t.Error(err)
				}
				until(t, "all have ended", func() bool { return !anyRuns(t, script) })
			})
			p, out := process(t, c, "run", "--name", t.Name(), "--", "sh", "-c", `trap '' TERM; "$0" 0 & sleep 60`, script)
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
		})
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
