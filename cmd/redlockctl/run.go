//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/redlock"
)

// passed are the signals that redlockctl passes on to the command.
var passed = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	syscall.SIGCONT,
}

// ending are the signals that end the wait for the lock.
var ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// notIgnored returns the signals without those that redlockctl was started to ignore, as under nohup. The command inherits
// that and ignores them, too.
func notIgnored(signals []os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
}

// command is a command to run under a lock.
type command struct {
	name    string // of the lock
	value   string // shown to others as the holder
	wait    time.Duration
	grace   time.Duration
	keepEnv bool // the command gets the variables with the nodes
	argv    []string
}

func (p *program) runCommand() *cobra.Command {
	var c command
	cmd := &cobra.Command{
		Use: "run --name NAME -- COMMAND [ARG...]", Short: "Run a command while a lock is held", Args: cobra.MinimumNArgs(1),
		Long: "Run takes the lock, extends its lease while the command runs, passes signals on to it, and exits with its\n" +
			"code. REDLOCK_TOKEN is the fencing token: make the resource that the command writes to refuse smaller ones.\n" +
			"If the lease cannot be extended, the command gets SIGTERM --grace before the lease ends. Before the end,\n" +
			"redlockctl kills it with SIGKILL, with everything that it has started. Processes of another user cannot be\n" +
			"killed, and redlockctl says so: run redlockctl as that user (sudo redlockctl run, and not sudo in the command).\n" +
			"If redlockctl is killed, everything is killed at once. If redlockctl is stopped, everything is killed before\n" +
			"the lease ends. On Linux, everything means every descendant; elsewhere it means the process group. It does not\n" +
			"include what systemd-run, docker or at start for the command.\n" +
			"The command reads the input of redlockctl, or /dev/null if that is a terminal.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c.argv = args
			return p.run(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVar(&c.name, "name", "", "name of the lock")
	cmd.Flags().StringVar(&c.value, "value", identity(), "name of the holder that others see")
	cmd.Flags().DurationVar(&c.wait, "wait", 0, "longest wait for the lock; 0: one attempt")
	cmd.Flags().BoolVar(&c.keepEnv, "keep-env", false, "pass "+nodesVariable+" and "+nodesFileVariable+" to the command, with the passwords")
	cmd.Flags().DurationVar(&c.grace, "grace", 0, "time from SIGTERM to the end of a lease that cannot be extended; 0: a fifth of the TTL")
	return cmd
}

func (p *program) run(ctx context.Context, c command) (err error) {
	if c.grace == 0 {
		c.grace = p.ttl / 5
	}
	if err := c.problems(p.ttl); err != nil {
		return exit{misused, err}
	}
	path, err := exec.LookPath(c.argv[0])
	switch {
	case errors.Is(err, fs.ErrPermission):
		return exit{notRunnable, err}
	case err != nil:
		return exit{notFound, err}
	}
	// NotifyContext comes first, so that a signal that should end the wait is not kept for the command.
	ctx, stop := signal.NotifyContext(ctx, notIgnored(ending)...)
	defer stop()
	// Registered before the lock is taken, so that the command gets every signal after that.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, notIgnored(passed)...)
	defer signal.Stop(signals)

	l, err := p.locker()
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), p.timeout)
		defer cancel()
		if problem := l.Close(closing); problem != nil && err == nil {
			complain(p.err, hideArguments(problem, p.args, false)) // the exit code stays the command's
		}
	}()
	extended := make(chan struct{}, 1)
	lease, err := c.acquire(ctx, l, extended)
	if errors.Is(err, redlock.ErrHeld) {
		err = fmt.Errorf("%w: the holder may extend its lease", err)
	}
	if err != nil {
		return exit{noLease, err}
	}
	child := exec.Command(path, c.argv[1:]...)
	child.Args[0] = c.argv[0]
	child.Stdin, child.Stdout, child.Stderr = input(p.in), p.out, p.err
	child.Env = os.Environ()
	if !c.keepEnv {
		child.Env = withoutNodes(child.Env)
	}
	child.Env = append(child.Env, fmt.Sprint("REDLOCK_TOKEN=", lease.Token()), "REDLOCK_NAME="+c.name)
	supervisor := &supervisor{lease: lease, grace: c.grace, signals: signals, extended: extended, err: p.err}
	err = supervisor.run(child)
	if problem := lease.Release(context.Background()); problem != nil && !isLost(err) {
		problem = fmt.Errorf("another process may have held the lock before the command ended: %w", problem)
		complain(p.err, hideArguments(problem, p.args, false))
	}
	return err
}

func (c command) problems(ttl time.Duration) error {
	var problems []error
	if c.name == "" {
		problems = append(problems, errors.New("no lock: give --name NAME"))
	}
	if c.wait < 0 {
		problems = append(problems, fmt.Errorf("--wait %v must not be negative", c.wait))
	}
	if longest := ttl / 2; c.grace <= 0 || c.grace > longest {
		problems = append(problems, fmt.Errorf("--grace %v must be above 0 and at most half the ttl, %v: there must be time for a renewal "+
			"to save the lease", c.grace, longest))
	}
	return errors.Join(problems...)
}

// acquire takes the lock. extended gets a signal after each extension.
func (c command) acquire(ctx context.Context, l *redlock.Locker, extended chan<- struct{}) (*redlock.Lease, error) {
	options := []redlock.AcquireOption{redlock.WithValue(c.value), redlock.WithAutoExtend(redlock.Extension{
		Extended: func(int, time.Duration, error) {
			select {
			case extended <- struct{}{}:
			default: // a signal is waiting already
			}
		},
	})}
	if c.wait == 0 {
		return l.TryAcquire(ctx, c.name, options...)
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	return l.Acquire(ctx, c.name, options...)
}

func isLost(err error) bool {
	e, ok := errors.AsType[exit](err)
	return ok && e.code == lostLease
}
