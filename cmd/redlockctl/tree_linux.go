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

// forbiddenPatience is how long a process that may not be killed gets to end with those that were, as sudo does.
const forbiddenPatience = killBefore / 2

// processGroup has the command in a group of its own, which gets signals together. Where its parent is killed, the kernel
// kills the command at once, before somebody has the rest.
func processGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of all orphans among its descendants. It does not, and returns false, if there
// are children already: nobody could tell their descendants from those of the command.
func adoptOrphans() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD) && unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// kill kills all descendants of this process, which must have adopted orphans before it had any, and returns when none is
// left. [*notKilledError]: some are, most often as they run as another user.
func (t *tree) kill() error {
	start := time.Now()
	forbidden := start // since then all that are left have been
	for {
		if !t.ended { // its number is not another's yet
			_ = t.signal(syscall.SIGKILL) // faster than one after the other; those that it misses come next
		}
		left := killDescendants(os.Getpid())
		if t.reap() {
			return nil
		}
		now := time.Now()
		if !left.areForbidden() {
			forbidden = now
		}
		if now.Sub(forbidden) > forbiddenPatience || now.Sub(start) > killPatience {
			return &notKilledError{left.problem()}
		}
		time.Sleep(time.Millisecond)
	}
}

// killOrphans does the same in redlockctl when the guard has ended. If it has not adopted orphans it cannot know of all.
func (t *tree) killOrphans(adopted bool) error {
	if adopted {
		return t.kill()
	}
	_ = t.signal(syscall.SIGKILL) // the error is the same
	return &notKilledError{errors.New("what has left its process group is unknown, since the guard has ended and redlockctl had " +
		"other children when it started")}
}

// descendant is one as /proc shows it.
type descendant struct {
	pid, parent int
	start       string // instant: with the pid, it tells a process from all others
	state, name string
	err         error // of its SIGKILL
}

// leftovers are descendants that have not ended.
type leftovers []descendant

// areForbidden reports whether there are some, and this process may send signals to none of them.
func (l leftovers) areForbidden() bool {
	for _, d := range l {
		if !errors.Is(d.err, syscall.EPERM) {
			return false
		}
	}
	return len(l) > 0
}

// problem names them.
func (l leftovers) problem() error {
	var problems []error
	for _, d := range l[:min(len(l), 5)] {
		err := d.err
		if err == nil {
			err = fmt.Errorf("it has not ended for %v after SIGKILL", killPatience)
		}
		problems = append(problems, fmt.Errorf("process %d, %q: %w", d.pid, d.name, err))
	}
	if more := len(l) - len(problems); more > 0 {
		problems = append(problems, fmt.Errorf("and %d more", more))
	}
	if len(l) == 0 {
		return fmt.Errorf("it has processes that the system does not show, %v after SIGKILL to all others", killPatience)
	}
	return errors.Join(problems...)
}

// killDescendants sends SIGKILL to each descendant of a process that it finds, and returns those that are not known to
// have ended. New ones may start meanwhile.
func killDescendants(root int) (left leftovers) {
	children := map[int][]descendant{}
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern has digits first; 0 is no process
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

// kill returns false if the process is gone. It opens the process before it looks again, so that it never kills another one
// that has got its number: a process keeps its parent until that ends, and goes to an ancestor then.
func (d *descendant) kill(root int) bool {
	process, err := os.FindProcess(d.pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }() // nothing depends on it
	now, ok := look(d.pid)
	if !ok || now.start != d.start || now.parent != d.parent && now.parent != root {
		return false
	}
	// Also where its state is Z: its first thread may have ended alone.
	d.state, d.err = now.state, process.Kill()
	return !errors.Is(d.err, os.ErrProcessDone)
}

// look reads what /proc shows of a process; false if it is gone.
func look(pid int) (descendant, bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may be gone
	stat := string(text)
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')') // its name may have any characters
	if open < 0 || end < open {
		return descendant{}, false
	}
	fields := strings.Fields(stat[end+1:]) // from the third of proc(5) on
	if len(fields) < 20 {
		return descendant{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return descendant{pid: pid, parent: parent, start: fields[19], state: fields[0], name: stat[open+1 : end]}, err == nil
}
