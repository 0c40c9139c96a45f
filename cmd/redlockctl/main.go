// Redlockctl inspects locks, elections and jobs of package redlockfx, and runs commands under a lock.
//
//	redlockctl -n r1:6379,r2:6379,r3:6379 -e billing leader
//	redlockctl jobs -o json
//	redlockctl run --name import -- ./import.sh
//
// Its exit codes:
//
//	0  success
//	1  failure
//	2  wrong usage
//	3  the answer is no: nobody leads, the locks are free, no job matches, doctor found a problem, or a triggered run
//	   did not take place
//	4  too few nodes answered
//	5  a triggered run has not ended within --wait
//
// Run exits with the command's code, or with 128 plus the number of the signal that ended it. Like env and timeout,
// run has codes of its own:
//
//	124  the lease was lost, so the command was stopped
//	125  there was no lease
//	126  the command could not be started
//	127  the command was not found
//
// Errors are one line on stderr, "redlockctl: ...".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	failed      = 1
	misused     = 2
	no          = 3
	unreachable = 4
	unfinished  = 5
	lostLease   = 124
	noLease     = 125
	notRunnable = 126
	notFound    = 127
)

// exit is an error with an exit code.
type exit struct {
	code int
	err  error // nil: no message
}

func (e exit) Error() string { return fmt.Sprint(e.err) }
func (e exit) Unwrap() error { return e.err }

func main() {
	logging.Disable() // go-redis would print a line for each dial that fails
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// execute runs the program, and returns its exit code.
func execute(ctx context.Context, args []string, s streams) int {
	root := newRoot(args, s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := codeOf(err)
	var e exit
	if err != nil && (!errors.As(err, &e) || e.err != nil) {
		complain(s.err, hideArguments(err, args, code == misused))
	}
	return code
}

func codeOf(err error) int {
	if e, ok := errors.AsType[exit](err); ok {
		return e.code
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, election.ErrNoLeader), errors.Is(err, redlock.ErrVacant), errors.Is(err, scheduler.ErrUnknownJob):
		return no
	case errors.Is(err, scheduler.ErrName):
		return misused
	case errors.Is(err, redlock.ErrNoQuorum), errors.Is(err, context.DeadlineExceeded):
		return unreachable
	default:
		return failed
	}
}
