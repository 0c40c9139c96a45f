//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/redlock"
)

// guard is a second process of this program, which kills the command, with what it has started, when the first one has
// died, or is stopped and lets the lease run out. It holds one end of a pipe: that ends with whoever holds the other.
type guard struct {
	process *exec.Cmd
	pipe    *os.File
}

const (
	guardName = "guard-of-run"
	// guardProcess is what the system calls the guard. Whoever ends redlockctl by its name does not mean the guard.
	guardProcess = "lock-guard"
	allWell      = "ended"
)

func newGuard() (*guard, error) {
	self, err := programFile()
	if err != nil {
		return nil, err
	}
	told, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	process := exec.Command(self, guardName)
	process.Args[0] = guardProcess
	process.Stdin, process.Stderr = told, os.Stderr // who else could tell that the command is not killed?
	// It needs none of the passwords there.
	process.Env = []string{}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to redlockctl's group are not for it
	err = process.Start()
	_ = told.Close() // it has its own
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	return &guard{process, pipe}, nil
}

// watch tells it what to kill, and when: so long before the end of the lease as it is now known.
func (g *guard) watch(command group, lease *redlock.Lease, before time.Duration) error {
	// In this order, what passes before the guard reads it is counted.
	now := sinceBoot()
	kill := now + time.Until(lease.Deadline()) - before
	// One that has read nothing for so long that the pipe is full is as good as gone.
	if err := g.pipe.SetWriteDeadline(time.Now().Add(killBefore)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(g.pipe, command.leader, int64(kill), command.mark)
	return err
}

// end tells it that there is nothing to do, and waits until it is gone. It returns whether the guard has killed the
// group because the lease was about to end.
func (g *guard) end() (killed bool) {
	_, _ = fmt.Fprintln(g.pipe, allWell) // where it is gone, it is
	_ = g.pipe.Close()
	late := time.AfterFunc(2*killPatience, func() { _ = g.process.Process.Kill() }) // it may be stopped, or be gone
	_ = g.process.Wait()                                                            // its code is looked at
	late.Stop()
	return g.process.ProcessState.ExitCode() == lostLease
}

func guardProcessCommand() *cobra.Command {
	return &cobra.Command{
		Use: guardName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			setProcessName(guardProcess)
			return guarding(os.Stdin)
		},
	}
}

func hiddenCommands() []*cobra.Command { return []*cobra.Command{guardProcessCommand()} }
