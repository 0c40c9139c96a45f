package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processGroup has the command in a group of its own, which gets signals together. Where redlockctl is killed, the
// kernel kills the command at once, before the guard has the rest of its group.
func processGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isAtWork reports whether something in the process group still runs, after a signal to it that had this error. Processes
// that have ended stay in it until their parent asks for their code.
func (g group) isAtWork(error) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	ended := false
	for _, file := range all {
		stat, _ := os.ReadFile(file) // it may be gone
		_, rest, _ := strings.Cut(string(stat[max(strings.LastIndexByte(string(stat), ')'), 0):]), " ")
		fields := strings.Fields(rest) // state, parent, group
		if len(fields) < 3 || fields[2] != strconv.Itoa(g.leader) {
			continue
		}
		if fields[0] != "Z" && fields[0] != "X" {
			return true
		}
		ended = true
	}
	return !ended // a system may hide processes of other users
}
