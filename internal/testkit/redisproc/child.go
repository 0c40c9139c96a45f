//go:build unix

package redisproc

import (
	"os/exec"
	"runtime"
)

// StartChild starts cmd as a process that, on Linux, the kernel kills when this one ends, even if it is stopped then.
// The channel is closed when the process has ended and been waited for; cmd.ProcessState says how it ended.
func StartChild(cmd *exec.Cmd) (gone <-chan struct{}, err error) {
	cmd.SysProcAttr = dieWithParent()
	started, done := make(chan error), make(chan struct{})
	go func() { // ends with the process
		defer close(done)
		// For the kernel, the parent is the thread that forked. So that thread is kept until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ProcessState says the same
		}
	}()
	return done, <-started
}
