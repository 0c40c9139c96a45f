package redlock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// What a caller may want to branch on, with errors.Is. The details are in a [QuorumError].
var (
	// ErrHeld says that others hold so many nodes that the lock could not be won.
	ErrHeld = errors.New("redlock: held")
	// ErrNoQuorum says that too few nodes answered to know or to change anything for sure.
	ErrNoQuorum = errors.New("redlock: no quorum")
	// ErrExpired says that the lease ran out.
	ErrExpired = errors.New("redlock: expired")
	// ErrLost says that on a majority of nodes the lock is gone or another's, before its time.
	ErrLost = errors.New("redlock: lost")
	// ErrReleased says that the lease was released or abandoned by its own holder.
	ErrReleased = errors.New("redlock: released")
	// ErrVacant says that nobody holds the lock.
	ErrVacant = errors.New("redlock: vacant")
	// ErrClosed says that the Locker was closed.
	ErrClosed = errors.New("redlock: closed")
	// ErrConfig says that an option, a node or a name is not usable.
	ErrConfig = errors.New("redlock: config")
)

// NodeError is one node's reason.
type NodeError struct {
	Addr string
	Err  error
}

func (e NodeError) Error() string { return e.Addr + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e NodeError) Unwrap() error { return e.Err }

// QuorumError is an outcome that a majority of nodes did not agree to. It wraps one of this
// package's errors and each node's reason.
type QuorumError struct {
	Op, Name  string      // what was tried, on which lock
	Need, Got int         // nodes
	Nodes     []NodeError // those that did not agree, in the order of the list

	kind error
}

func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s %q: %s: %d of %d nodes", e.Op, e.Name,
		strings.TrimPrefix(e.kind.Error(), "redlock: "), e.Got, e.Need)
	for i, n := range e.Nodes {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(n.Error())
	}
	return b.String()
}

// Unwrap returns the kind of failure and each node's reason.
func (e *QuorumError) Unwrap() []error {
	all := []error{e.kind}
	for _, n := range e.Nodes {
		all = append(all, n)
	}
	return all
}

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

var errGone = errors.New("not locked")

// isRefused tells that the server did nothing for want of the right password.
func isRefused(err error) bool {
	return redis.IsAuthError(err) || redis.HasErrorPrefix(err, "WRONGPASS")
}

// isPermanent tells an error that asking again cannot mend: a wrong password or missing rights.
// A denial inside a script has no code of its own in Redis before 7.2, only this text.
func isPermanent(err error) bool {
	return isRefused(err) || redis.IsPermissionError(err) ||
		strings.Contains(err.Error(), "The user executing the script can't")
}

// isHopeless tells an outcome where so many nodes refuse for good that no quorum is left.
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

// tally is what the nodes said in one round.
type tally struct {
	yes    int
	no     int         // without a quorum of yes: answered, and it is not ours
	number uint64      // the largest of those that said yes
	uneven bool        // they did not all say the same number
	nodes  []NodeError // without a quorum of yes: all others
}

func (l *Locker) count(answers []quorum.Answer) tally {
	var t tally
	for _, a := range answers {
		if r, err := parseReply(a); err == nil && r.yes {
			t.uneven = t.uneven || (t.yes > 0 && r.number != t.number)
			t.yes++
			t.number = max(t.number, r.number)
		}
	}
	if t.yes >= l.need {
		return t // nobody asks why the others did not say yes
	}
	for i, a := range answers {
		r, err := parseReply(a)
		switch {
		case err != nil:
			t.nodes = append(t.nodes, NodeError{l.quorum.Addr(i), err})
		case r.yes:
		case r.value == "":
			t.no++
			t.nodes = append(t.nodes, NodeError{l.quorum.Addr(i), errGone})
		default:
			t.no++
			v, _ := parseValue(r.value) // parseReply has checked it
			t.nodes = append(t.nodes, NodeError{l.quorum.Addr(i), heldError{v, r.ttl}})
		}
	}
	return t
}

// failed makes the error of a tally without a quorum: blocked if others' answers alone prevented
// it, else ErrNoQuorum. cause is why the answers were not awaited, if they were not.
func (l *Locker) failed(op, name string, t tally, blocked, cause error) error {
	kind := ErrNoQuorum
	if l.quorum.Size()-t.no < l.need {
		kind = blocked
	}
	err := &QuorumError{Op: op, Name: name, Need: l.need, Got: t.yes, Nodes: t.nodes, kind: kind}
	if cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
