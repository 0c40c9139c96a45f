package redlock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// heldError is the reason of a node where another holds the lock.
type heldError struct {
	value value
	ttl   time.Duration // below zero: for good
}

func (e heldError) Error() string {
	who := e.value.text
	if who == "" {
		who = e.value.contender
	}
	if e.ttl < 0 {
		return fmt.Sprintf("held by %q for good", who)
	}
	return fmt.Sprintf("held by %q for %v", who, e.ttl)
}

// guardedError is the reason of a node that may have forgotten a lease.
type guardedError struct{ left time.Duration }

func (e guardedError) Error() string {
	return fmt.Sprintf("new, restarted, flushed or promoted: it grants nothing for another %v", e.left)
}

// listError is the reason of a node that was used with a list of another length.
type listError struct{ theirs, ours int64 }

func (e listError) Error() string {
	return fmt.Sprintf("in use with a list of %d nodes, here are %d: all that use a prefix must have "+
		"the same list", e.theirs, e.ours)
}

var (
	errGone  = errors.New("not locked")
	errUnfit = errors.New("not fit to be a node")
	errLate  = errors.New("the request came too late and did nothing")
)

func layoutError(theirs string) error {
	return fmt.Errorf("the key has layout %.10q, this version knows %q", theirs, layout)
}

// isUnknown tells that the node may have done what it was asked, or may still do it.
func isUnknown(a quorum.Answer) bool {
	return a.Err != nil && !errors.Is(a.Err, quorum.ErrUnsent) && !errors.Is(a.Err, quorum.ErrClosed) &&
		!errors.Is(a.Err, errUnfit) && !isRefused(a.Err)
}

// isRefused tells that the server did nothing for want of the right password.
func isRefused(err error) bool {
	return redis.IsAuthError(err) || redis.HasErrorPrefix(err, "WRONGPASS")
}

// isPermanent tells an error that asking again cannot mend: a wrong password or missing rights.
// A denial inside a script has no code of its own in Redis before 7.2, only this text.
func isPermanent(err error) bool {
	return isRefused(err) || strings.Contains(err.Error(), "NOPERM ") ||
		strings.Contains(err.Error(), "The user executing the script can't")
}

// isOtherType tells that something else than a lock has its key. Redis before 7 says so within a
// longer text.
func isOtherType(err error) bool { return strings.Contains(err.Error(), "WRONGTYPE ") }

// isHopeless tells an outcome where so many nodes refuse for good that no quorum is left.
func isHopeless(err error, nodes int) bool {
	var q *QuorumError
	if !errors.As(err, &q) {
		return errors.Is(err, ErrClosed) || errors.Is(err, ErrConfig)
	}
	permanent := 0
	for _, n := range q.Nodes {
		if _, listed := errors.AsType[listError](n.Err); listed || isPermanent(n.Err) {
			permanent++
		}
	}
	return nodes-permanent < q.Need
}
