package redlock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// The errors that callers can test with errors.Is. The details are in a [QuorumError].
var (
	// ErrHeld says that others hold the lock on so many nodes that it could not be won.
	ErrHeld = errors.New("redlock: held")
	// ErrNoQuorum says that too few nodes answered to decide the outcome.
	ErrNoQuorum = errors.New("redlock: no quorum")
	// ErrGuarded says that the lock could not be won because nodes that may have lost a lease grant nothing yet. The
	// error says for how long.
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
	// ErrConfig says that an option, a node or a name is invalid.
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
