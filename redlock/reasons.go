package redlock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
)

// heldError is the reason of a node on which another value holds the lock.
type heldError struct {
	value value
	left  time.Duration
	own   bool // the value is of a lease of this very Locker
}

func (e heldError) Error() string {
	who := e.value.text
	if who == "" {
		who = e.value.contender
	}
	if e.own {
		return fmt.Sprintf("held by %q, this very process, for another %v", who, e.left)
	}
	return fmt.Sprintf("held by %q for another %v", who, e.left)
}

// guardedError is the reason of a node that may have lost a lease.
type guardedError struct{ left time.Duration }

func (e guardedError) Error() string {
	return fmt.Sprintf("new, restarted, flushed or promoted: it grants nothing for another %v", e.left)
}

// listError is the reason of a node that is used with a list of another length.
type listError struct{ theirs, ours int64 }

func (e listError) Error() string {
	return fmt.Sprintf("in use with a list of %d nodes, this list has %d: all users of a prefix must have the same list",
		e.theirs, e.ours)
}

var (
	errNotLocked  = errors.New("not locked")
	errQueued     = errors.New("free, but others wait for it")
	errUnfit      = errors.New("not fit to be a node")
	errLate       = errors.New("the request came too late and did nothing")
	errFirstSeen  = errors.New("this is its first answer about this lease: its clock may have been set back")
	errNoIdentity = errors.New("scripts may not call INFO, so a restart of the server could not be detected: permit it " +
		"(ACL +info), or accept such nodes with WithUnseenRestarts")
)

// isUnknown reports whether the node may have acted on the request, or still may.
func isUnknown(err error) bool {
	return err != nil && !errors.Is(err, quorum.ErrUnsent) && !isRefusal(err)
}

// isRefusal reports whether the node says that it did nothing.
func isRefusal(err error) bool {
	if errors.Is(err, errLate) || errors.Is(err, errNoIdentity) || isRecordError(err) || isDenied(err) {
		return true
	}
	_, guarded := errors.AsType[guardedError](err)
	_, listed := errors.AsType[listError](err)
	return guarded || listed
}

// isDenied reports whether the server did nothing because the password was missing or wrong.
func isDenied(err error) bool {
	code := refusal.Code(err)
	return code == refusal.NoAuth || code == refusal.WrongPass
}

// isPermanent reports whether retrying cannot help.
func isPermanent(err error) bool { return errors.Is(err, errNoIdentity) || refusal.IsPermanent(err) }

// isHopeless reports whether so many nodes refuse permanently that no quorum is left.
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

// guardLeft returns how long it takes until enough guards have ended for a quorum; 0 if their end would not suffice.
func guardLeft(err error) time.Duration {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !errors.Is(err, ErrGuarded) {
		return 0
	}
	var left []time.Duration
	missing, open := q.Need-q.Got, 0
	for _, n := range q.Nodes {
		if errors.Is(n.Err, quorum.ErrNoAnswer) {
			open++
		}
		if g, ok := errors.AsType[guardedError](n.Err); ok {
			left = append(left, g.left)
		}
	}
	slices.Sort(left)
	if open < missing {
		missing -= open // nodes that were not waited for may say yes
	}
	if missing < 1 || missing > len(left) {
		return 0
	}
	return left[missing-1]
}
