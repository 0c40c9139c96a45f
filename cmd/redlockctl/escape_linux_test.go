package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asHider has this binary be a command that hides in the way that it names; asHidersChild, what that has started.
const (
	asHider       = "REDLOCKCTL_TEST_AS_HIDER"
	asHidersChild = "REDLOCKCTL_TEST_AS_CHILD_OF_HIDER"
)

// The ways to hide.
const (
	undumpable = "undumpable" // what /proc has of it belongs to root
	renamed    = "renamed"    // its name and its arguments in /proc are others
)

// beHider hides. So does a child of it, in a session of its own. Both ignore SIGTERM.
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
		for _, arg := range os.Args { // the system shows what is in this memory
			copy(unsafe.Slice(unsafe.StringData(arg), len(arg)), strings.Repeat("1 (x) Z 1 ", len(arg)))
		}
		setProcessName("x) Z 1 1 1 1")
	}
	fmt.Printf("hidden %d\n", os.Getpid())
	time.Sleep(time.Minute) // the test kills it
}

// A process can change what /proc shows of it, but neither its parent nor its state.
func TestRun_ProcessesThatHideAreKilledWhenTheLockIsLost(t *testing.T) {
	for _, way := range []string{undumpable, renamed} {
		t.Run(way, func(t *testing.T) {
			c := ready(t, servers(t))
			p, out := prepared(t, c, "run", "--name", "x", "--", "env", asHider+"="+way, copied(t, "hider", 0o755))
			if os.Getuid() == 0 { // to root, nothing is hidden
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
			forget(t, c)
			wantNothingLeft(t, p, out, lostLease, "was killed", file)
		})
	}
}

// forker is a script that starts itself in a session of its own, again and again, until there is a file. It notes each pid.
const forker = `#!/bin/sh
[ -e "$1/end" ] && exit
echo $$ >> "$1/pids"
setsid "$0" "$1" &
%s
`

// A command may start processes faster than they are killed: then it is said that some may be left, and else none is.
func TestRun_ACommandThatForksWithoutEndIsKilledOrNamedWhenTheLockIsLost(t *testing.T) {
	for name, then := range map[string]string{"and lives": "exec sleep 0.2", "and ends": "exit"} {
		t.Run(name, func(t *testing.T) {
			c := ready(t, servers(t))
			dir := t.TempDir()
			script := filepath.Join(dir, "forker")
			if err := os.WriteFile(script, fmt.Appendf(nil, forker, then), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
					t.Error(err)
				}
				until(t, "all have ended", func() bool { return forkers(t, script) == 0 })
			})
			p, out := process(t, c, "run", "--name", "x", "--", "sh", "-c", fmt.Sprintf("trap '' TERM; %s %s & sleep 60", script, dir))
			until(t, "some have started", func() bool { return lines(filepath.Join(dir, "pids")) > 20 })
			forget(t, c)
			lost := time.Now()
			_ = p.Wait() // its code is looked at
			if took := time.Since(lost); took > ttl+4*killPatience {
				t.Errorf("it took %v", took)
			}
			left, said := forkers(t, script), out.String()
			killed, named := strings.Contains(said, "was killed"), strings.Contains(said, "could NOT be killed")
			if code := p.ProcessState.ExitCode(); code != lostLease || killed == named || left > 0 && !named {
				t.Errorf("code %d, and %d are left: %s", code, left, said)
			}
		})
	}
}

// forkers counts the processes of a script.
func forkers(t *testing.T, script string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if line, _ := os.ReadFile(file); strings.Contains(string(line), script) && pid != os.Getpid() { // it may have ended
			n++
		}
	}
	return n
}

func lines(file string) int {
	text, _ := os.ReadFile(file) // not there yet
	return strings.Count(string(text), "\n")
}
