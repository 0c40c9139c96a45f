package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// forbiddenTimeout is how long a process that may not be killed, such as sudo, gets to end by itself after the others
// were killed.
const forbiddenTimeout = 100 * time.Millisecond

// processGroup starts the command in its own process group, so that signals reach the whole group. If its parent is
// killed, the kernel kills the command at once, before the other processes are killed.
func processGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of all orphans among its descendants. If it has children already, it
// does nothing and returns false: their descendants could not be distinguished from those of the
// command.
func adoptOrphans() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD) && unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// kill kills all descendants of this process, and returns when none is left. The process must have adopted orphans
// before it had children. [*notKilledError] means that some are left, most often because they run as another user.
func (t *tree) kill() error {
	start := time.Now()
	forbidden := start // since then, all processes that are left may not be killed
	for {
		if !t.ended { // no other process has its pid yet
			_ = t.signal(syscall.SIGKILL) // faster than one by one; those outside the group come next
		}
		left := killDescendants(os.Getpid())
		if t.reap() {
			return nil
		}
		now := time.Now()
		if !left.areForbidden() {
			forbidden = now
		}
		if now.Sub(forbidden) > forbiddenTimeout || now.Sub(start) > killTimeout {
			return &notKilledError{left.problem()}
		}
		time.Sleep(time.Millisecond)
	}
}

// killOrphans does the same in redlockctl when the watchdog has ended. If redlockctl has not adopted orphans, it cannot
// find all of them.
func (t *tree) killOrphans(adopted bool) error {
	if adopted {
		return t.kill()
	}
	_ = t.signal(syscall.SIGKILL) // the result below is the same on an error
	return &notKilledError{errors.New("processes outside its process group are unknown, because the watchdog has ended and redlockctl had " +
		"other children when it started")}
}

// descendant is a process as /proc shows it.
type descendant struct {
	pid, parent int
	start       string // start time; with the pid it identifies the process
	state, name string
	err         error // of sending it SIGKILL
}

// leftovers are descendants that have not ended.
type leftovers []descendant

// areForbidden reports whether processes are left, and this process may not send signals to any of them.
func (l leftovers) areForbidden() bool {
	for _, d := range l {
		if !errors.Is(d.err, syscall.EPERM) {
			return false
		}
	}
	return len(l) > 0
}

// problem returns an error that names them.
func (l leftovers) problem() error {
	var problems []error
	for _, d := range l[:min(len(l), 5)] {
		err := d.err
		if err == nil {
			err = fmt.Errorf("it has not ended %v after SIGKILL", killTimeout)
		}
		problems = append(problems, fmt.Errorf("process %d, %q: %w", d.pid, d.name, err))
	}
	if more := len(l) - len(problems); more > 0 {
		problems = append(problems, fmt.Errorf("and %d more", more))
	}
	if len(l) == 0 {
		return fmt.Errorf("%v after SIGKILL to all others, it still has processes that the system does not show", killTimeout)
	}
	return errors.Join(problems...)
}

// killDescendants sends SIGKILL to each descendant of a process that it finds, and returns those that are not known to
// have ended. New ones may start meanwhile.
func killDescendants(root int) (left leftovers) {
	children := map[int][]descendant{}
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir)) // the names start with a digit; 0 is no process
		if d, ok := look(pid); ok {
			children[d.parent] = append(children[d.parent], d)
		}
	}
	for level := children[root]; len(level) > 0; {
		var next []descendant
		for _, d := range level {
			if !d.kill(root) {
				continue // its children, if any, have a new parent: the next call finds them
			}
			if d.state != "Z" {
				left = append(left, d)
			}
			next = append(next, children[d.pid]...)
		}
		level = next
	}
	return left
}

// kill sends SIGKILL to the process, and returns false if it is gone. It opens the process before it reads /proc
// again, so that it never kills another process that got the same pid. A process keeps its parent until that ends,
// and then goes to an ancestor.
func (d *descendant) kill(root int) bool {
	process, err := os.FindProcess(d.pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }() // an error does not matter
	now, ok := look(d.pid)
	if !ok || now.start != d.start || now.parent != d.parent && now.parent != root {
		return false
	}
	// This kills it even in state Z, because maybe only its first thread has ended.
	d.state, d.err = now.state, process.Kill()
	return !errors.Is(d.err, os.ErrProcessDone)
}

// look reads a process from /proc. It returns false if the process is gone.
func look(pid int) (descendant, bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // the process may be gone
	stat := string(text)
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')') // the name may have any characters
	if open < 0 || end < open {
		return descendant{}, false
	}
	fields := strings.Fields(stat[end+1:]) // from the third field of proc(5) on
	if len(fields) < 20 {
		return descendant{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return descendant{pid: pid, parent: parent, start: fields[19], state: fields[0], name: stat[open+1 : end]}, err == nil
}
