//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/redlock"
)

// guard is a second process of this program. It starts the command, and kills it with all of its descendants when it is ordered
// to, when the command has ended, and when the first process has died, or is stopped and lets the lease run out. A pipe takes
// the orders and another one the reports: each ends with whoever writes to it.
type guard struct {
	process *exec.Cmd
	orders  *os.File

	started chan struct{} // closed when first is set
	ended   chan struct{} // closed when the guard says no more, and last is set
	first   report        // of the start of the command
	last    report        // of its end
}

// report is what the guard says: once when the command has started or failed to, and once when it has ended.
type report struct {
	PID     int
	Final   bool               // all has ended, or has not, as Problem says
	Ended   bool               // the command has
	Status  syscall.WaitStatus // of the command, where it has
	Late    bool               // it was killed since the lease was about to end
	Problem string
}

const (
	guardName = "guard-of-run"
	// guardProcess is what the system calls the guard. Whoever ends redlockctl by its name does not mean the guard.
	guardProcess = "lock-guard"
	// ordersFile and reportsFile are its ends of the pipes. The first three files are the command's.
	ordersFile, reportsFile = 3, 4
)

// startGuard starts the guard. It has the files that the command is to have.
func startGuard(child *exec.Cmd) (*guard, error) {
	self, err := programFile()
	if err != nil {
		return nil, err
	}
	read, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reports, write, err := os.Pipe()
	if err != nil {
		_, _ = read.Close(), orders.Close()
		return nil, err
	}
	process := exec.Command(self, guardName)
	process.Args[0] = guardProcess
	process.Stdin, process.Stdout, process.Stderr = child.Stdin, child.Stdout, child.Stderr
	process.ExtraFiles = []*os.File{read, write}
	// It needs none of the passwords there. The command's variables come with the order to start it.
	process.Env = []string{}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to redlockctl's group are not for it
	process.WaitDelay = time.Second                           // for output of processes that could not be killed
	err = process.Start()
	_, _ = read.Close(), write.Close() // it has its own
	if err != nil {
		_, _ = orders.Close(), reports.Close()
		return nil, err
	}
	g := &guard{process: process, orders: orders, started: make(chan struct{}), ended: make(chan struct{})}
	go g.listen(reports) // until the guard has ended; end waits for it
	return g, nil
}

// listen takes the reports.
func (g *guard) listen(reports *os.File) {
	defer close(g.ended)
	defer func() { _ = reports.Close() }()
	from := json.NewDecoder(reports)
	_ = from.Decode(&g.first) // a guard that ends without word has reported nothing
	close(g.started)
	_ = from.Decode(&g.last)
}

// run has it start the command, and kill it so long before the end of the lease.
func (g *guard) run(child *exec.Cmd, lease *redlock.Lease, before time.Duration) error {
	return g.order("%s %d %q %q %q", orderRun, killAt(lease, before), child.Path, strings.Join(child.Args, "\x00"),
		strings.Join(child.Environ(), "\x00"))
}

// watch tells it the end of the lease as it is now known.
func (g *guard) watch(lease *redlock.Lease, before time.Duration) error {
	return g.order("%s %d", orderWatch, killAt(lease, before))
}

// killAt is the instant, as sinceBoot tells, so long before the end of a lease as it is now known.
func killAt(lease *redlock.Lease, before time.Duration) int64 {
	now := sinceBoot() // first: what passes before the guard reads it is counted
	return int64(now + time.Until(lease.Deadline()) - before)
}

// order writes a line to the guard. A guard that somebody has stopped goes on.
func (g *guard) order(format string, args ...any) error {
	_ = g.process.Process.Signal(syscall.SIGCONT) // where it is gone, the pipe says so
	// One that has read nothing for so long that the pipe is full is as good as gone.
	if err := g.orders.SetWriteDeadline(time.Now().Add(killPatience)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(g.orders, format+"\n", args...)
	return err
}

// end has it kill the command with all of its descendants, and waits until it is gone. It returns the last report. If that is
// not [report.Final], the guard was killed or did not answer, and its children are left.
func (g *guard) end() report {
	_ = g.order(orderKill) // where it is gone, it is
	late := time.AfterFunc(2*killPatience, func() { _ = g.process.Process.Kill() })
	_ = g.process.Wait() // its last report has all
	late.Stop()
	_ = g.orders.Close()
	<-g.ended
	return g.last
}

func guardProcessCommand() *cobra.Command {
	return &cobra.Command{
		Use: guardName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			setProcessName(guardProcess)
			return guarding(os.NewFile(ordersFile, "orders"), os.NewFile(reportsFile, "reports"))
		},
	}
}

func hiddenCommands() []*cobra.Command { return []*cobra.Command{guardProcessCommand()} }
