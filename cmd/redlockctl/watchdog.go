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

// watchdog is a second process of this program, which starts the command. It kills the command with all of its
// descendants if redlockctl orders it to, if the command has ended, if redlockctl has died, or if redlockctl is stopped
// and the lease is about to end. One pipe carries the orders and another the reports; each closes when its writer ends.
type watchdog struct {
	process *exec.Cmd
	orders  *os.File

	started chan struct{} // closed when first is set
	ended   chan struct{} // closed when the watchdog has closed its reports, and last is set
	first   report        // that the command has started
	last    report        // that the command has ended
}

// report is a message of the watchdog. The watchdog sends one when the command has started or failed to start, and one when
// the command has ended.
type report struct {
	PID     int
	Final   bool               // all processes have ended, unless Problem says otherwise
	Ended   bool               // the command has ended
	Status  syscall.WaitStatus // of the command, if it has ended
	Late    bool               // it was killed because the lease was about to end
	Problem string
}

const (
	watchdogName = "watchdog-of-run"
	// watchdogProcess is the process name of the watchdog. With another name, killall redlockctl does not end it.
	watchdogProcess = "lock-watchdog"
	// ordersFile and reportsFile are the file descriptors of the watchdog's ends of the pipes. The first three are the
	// command's.
	ordersFile, reportsFile = 3, 4
)

// startWatchdog starts the watchdog, with the files that the command will have.
func startWatchdog(child *exec.Cmd) (*watchdog, error) {
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
	process := exec.Command(self, watchdogName)
	process.Args[0] = watchdogProcess
	process.Stdin, process.Stdout, process.Stderr = child.Stdin, child.Stdout, child.Stderr
	process.ExtraFiles = []*os.File{read, write}
	// The watchdog needs no password from the environment. The command's variables come with the order to start it.
	process.Env = []string{}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it must not get signals to redlockctl's group
	process.WaitDelay = time.Second                           // processes that could not be killed may hold the output open
	err = process.Start()
	_, _ = read.Close(), write.Close() // the watchdog has its own copies
	if err != nil {
		_, _ = orders.Close(), reports.Close()
		return nil, err
	}
	g := &watchdog{process: process, orders: orders, started: make(chan struct{}), ended: make(chan struct{})}
	go g.listen(reports) // until the watchdog has ended; end waits for it
	return g, nil
}

// listen receives the reports.
func (g *watchdog) listen(reports *os.File) {
	defer close(g.ended)
	defer func() { _ = reports.Close() }()
	from := json.NewDecoder(reports)
	_ = from.Decode(&g.first) // a watchdog that dies sends nothing
	close(g.started)
	_ = from.Decode(&g.last)
}

// run orders the watchdog to start the command, and to kill it at the given time before the lease ends.
func (g *watchdog) run(child *exec.Cmd, lease *redlock.Lease, before time.Duration) error {
	return g.order("%s %d %q %q %q", orderRun, killAt(lease, before), child.Path, strings.Join(child.Args, "\x00"),
		strings.Join(child.Environ(), "\x00"))
}

// watch sends the current end of the lease to the watchdog.
func (g *watchdog) watch(lease *redlock.Lease, before time.Duration) error {
	return g.order("%s %d", orderWatch, killAt(lease, before))
}

// killAt returns the instant that is the given time before the current end of a lease, by the clock of sinceBoot.
func killAt(lease *redlock.Lease, before time.Duration) int64 {
	now := sinceBoot() // read first, so that any delay makes the instant earlier
	return int64(now + time.Until(lease.Deadline()) - before)
}

// order writes a line to the watchdog. If somebody has stopped the watchdog, order makes it continue.
func (g *watchdog) order(format string, args ...any) error {
	_ = g.process.Process.Signal(syscall.SIGCONT) // if the watchdog is gone, writing to the pipe fails
	// If the pipe stays full, the watchdog hangs, and counts as gone.
	if err := g.orders.SetWriteDeadline(time.Now().Add(killTimeout)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(g.orders, format+"\n", args...)
	return err
}

// end orders the watchdog to kill the command with all of its descendants, waits until the watchdog is gone, and returns
// its last report. If that is not [report.Final], the watchdog was killed or did not answer, and its children are left.
func (g *watchdog) end() report {
	_ = g.order(orderKill) // fails if the watchdog is gone
	late := time.AfterFunc(2*killTimeout, func() { _ = g.process.Process.Kill() })
	_ = g.process.Wait() // the last report says how it ended
	late.Stop()
	_ = g.orders.Close()
	<-g.ended
	return g.last
}

func watchdogCommand() *cobra.Command {
	return &cobra.Command{
		Use: watchdogName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			setProcessName(watchdogProcess)
			return runWatchdog(os.NewFile(ordersFile, "orders"), os.NewFile(reportsFile, "reports"))
		},
	}
}

func hiddenCommands() []*cobra.Command { return []*cobra.Command{watchdogCommand()} }
