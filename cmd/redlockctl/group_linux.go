package main

import "syscall"

// processGroup has the command in a group of its own, which gets signals together. Where redlockctl is killed, the
// kernel kills the command at once, before the guard has the rest of its group.
func processGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
