//go:build unix

package redisproc

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartChild starts cmd. On Linux, the kernel kills the new process when this process ends, even if the new one is
// stopped then. The channel is closed when the process has ended and been waited for. cmd.ProcessState says how it
// ended.
func StartChild(cmd *exec.Cmd) (gone <-chan struct{}, err error) {
	if cmd.SysProcAttr == nil { // the caller may have set another user
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	started, done := make(chan error), make(chan struct{})
	go func() { // ends with the process
		defer close(done)
		// To the kernel, the parent is the thread that forked. So keep that thread until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ProcessState has the same information
		}
	}()
	return done, <-started
}
