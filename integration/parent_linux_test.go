package integration_test

import "syscall"

// dieWithParent has the kernel kill a replica, a stopped one too, when the thread that started it
// ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
