package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
)

// The errors that callers can test with errors.Is. The details are in a [QuorumError].
var (
	// ErrHeld says that others hold the lock on so many nodes that it could not be won.
	ErrHeld = errors.New("redlock: held")
	// ErrNoQuorum says that too few nodes answered to decide the outcome.
	ErrNoQuorum = errors.New("redlock: no quorum")
	// ErrGuarded says that the lock could not be won because nodes that may have lost a lease, or that may be in use with an
	// earlier list of nodes, grant nothing yet. The error says for how long.
	ErrGuarded = errors.New("redlock: guarded")
	// ErrExpired says that the lease ran out.
	ErrExpired = errors.New("redlock: expired")
	// ErrLost says that, before the lease's deadline, a majority of nodes no longer had the lock, or had it for
	// somebody else.
	ErrLost = errors.New("redlock: lost")
	// ErrReleased says that the lease was released or abandoned by its own holder.
	ErrReleased = errors.New("redlock: released")
	// ErrVacant says that nobody holds the lock.
	ErrVacant = errors.New("redlock: vacant")
	// ErrClosed says that the Locker was closed.
	ErrClosed = errors.New("redlock: closed")
	// ErrConfig says that an option, a node, the list of nodes or a name is invalid: somebody must act.
	ErrConfig = errors.New("redlock: config")
)

// NodeError is one node's reason.
type NodeError struct {
	Addr string
	Err  error
}

// QuorumError says that an operation did not get the agreement of a majority of nodes. It wraps one of this package's
// errors and each node's reason.
type QuorumError struct {
	Op, Name        string      // the operation and its lock
	Size, Need, Got int         // number of nodes, how many must agree, how many did
	Nodes           []NodeError // nodes that did not agree, in the order of the list

	kind error
}

func (e *QuorumError) Error() string {
	short := quorum.Shortfall{
		Op: fmt.Sprintf("redlock: %s %q", e.Op, e.Name), Kind: errors.New(strings.TrimPrefix(e.kind.Error(), "redlock: ")),
		Size: e.Size, Need: e.Need, Got: e.Got,
	}
	for _, n := range e.Nodes {
		short.Nodes = append(short.Nodes, quorum.NodeError(n))
	}
	return short.Error()
}

// Unwrap returns the kind of failure and each node's reason.
func (e *QuorumError) Unwrap() []error {
	all := []error{e.kind}
	for _, n := range e.Nodes {
		all = append(all, n.Err)
	}
	return all
}

// HeldBy returns the value, set with [WithValue], of the holder that a majority of nodes names in the error of an
// attempt. It returns false if no majority names the same holder.
func HeldBy(err error) (value string, ok bool) {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok {
		return "", false
	}
	votes := make(map[string]int)
	for _, n := range q.Nodes {
		h, held := errors.AsType[heldError](n.Err)
		if !held {
			continue
		}
		if votes[h.value.contender]++; votes[h.value.contender] >= q.Size/2+1 {
			return h.value.text, true
		}
	}
	return "", false
}

// problems are the problems found in one call, each an [ErrConfig].
type problems []error

func (p *problems) add(format string, args ...any) {
	*p = append(*p, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
}

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

func isListed(err error) bool {
	_, ok := errors.AsType[lists.Problem](err)
	return ok
}

var (
	errNotLocked = errors.New("not locked")
	errQueued    = errors.New("free, but others wait for it")
	errUnfit     = errors.New("not fit to be a node")
	errTooOld    = errors.New("it must be 6.2 or later")
	errLate      = errors.New("the request came too late and did nothing")
	errFirstSeen = errors.New("this is its first answer about this lease: its clock may have been set back")
)

// isUnknown reports whether the node may have acted on the request, or still may.
func isUnknown(err error) bool {
	return err != nil && !errors.Is(err, quorum.ErrUnsent) && !isRefusal(err)
}

// isRefusal reports whether the node says that it did nothing.
func isRefusal(err error) bool {
	if errors.Is(err, errLate) || errors.Is(err, guard.ErrNoIdentity) || isRecordError(err) || isDenied(err) {
		return true
	}
	_, guarded := errors.AsType[guardedError](err)
	return guarded || isListed(err)
}

// isDenied reports whether the server did nothing because the password was missing or wrong.
func isDenied(err error) bool {
	code := refusal.Code(err)
	return code == refusal.NoAuth || code == refusal.WrongPass
}

// isPermanent reports whether retrying cannot help.
func isPermanent(err error) bool {
	return errors.Is(err, guard.ErrNoIdentity) || errors.Is(err, errTooOld) || refusal.IsPermanent(err)
}

// isHopeless reports whether so many nodes refuse permanently that no quorum is left.
func isHopeless(err error, nodes int) bool {
	var q *QuorumError
	if !errors.As(err, &q) {
		return errors.Is(err, ErrClosed) || errors.Is(err, ErrConfig)
	}
	permanent := 0
	for _, n := range q.Nodes {
		if isPermanent(n.Err) {
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
