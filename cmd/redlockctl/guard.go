//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
)

// guard is a second process of this program, which kills what the command has left when the first one has died. It
// holds one end of a pipe: that ends with whoever holds the other.
type guard struct {
	process *exec.Cmd
	pipe    io.WriteCloser
}

const (
	guardName = "guard-of-run"
	allWell   = "ended"
)

func newGuard() (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(self, guardName)
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to redlockctl's group are not for it
	pipe, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &guard{process, pipe}, process.Start()
}

// watch tells it which process group to kill.
func (g *guard) watch(leader int) error {
	_, err := fmt.Fprintln(g.pipe, leader)
	return err
}

// end tells it that there is nothing to do, and waits until it is gone.
func (g *guard) end() {
	_, _ = fmt.Fprintln(g.pipe, allWell) // where it is gone, it is
	_ = g.pipe.Close()
	_ = g.process.Wait()
}

func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use: guardName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			told := bufio.NewScanner(cmd.InOrStdin())
			leader := 0
			for told.Scan() {
				if told.Text() == allWell {
					return nil
				}
				leader, _ = strconv.Atoi(told.Text()) // what is none kills nothing
			}
			if leader > 1 {
				return syscall.Kill(-leader, syscall.SIGKILL)
			}
			return nil
		},
	}
}

func hiddenCommands() []*cobra.Command { return []*cobra.Command{guardCommand()} }
