package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// oldest is the oldest version of Redis that this package is tested with.
const oldest = "6.2"

// NodeStatus is what a node says of itself.
type NodeStatus struct {
	Addr        string
	Role        string        // master or slave; empty where INFO is not permitted
	Version     string        // of the server: of Redis, or of Valkey
	Eviction    string        // the policy, and noeviction where no maximum of memory is set; allkeys-... costs availability
	Latency     time.Duration // of the answer to this call
	Guard       time.Duration // for how long it grants nothing, as it may have lost a lease
	ClockOffset time.Duration // from the median of all nodes' clocks
	Err         error         // why its votes do not count, if so
	Number      error         // which number of a lock was not believed in the last minute: of that lock its votes do not count
}

// Nodes asks every node how it is, in the order of the list. It returns when all have answered, at the latest at the node
// timeout or when ctx is done.
func (l *Locker) Nodes(ctx context.Context) []NodeStatus {
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.inspect.Call(nil),
		func([]quorum.Answer[inspection]) bool { return false })
	all, answers := make([]NodeStatus, l.size), round.Answers()
	for i, a := range answers {
		n := a.Value
		if a.Err != nil {
			l.observed.change(i, func(s *nodeState) bool { n = s.inspection; return true })
		}
		all[i] = NodeStatus{
			Addr: l.quorum.Addr(i), Role: n.role, Version: n.version, Eviction: n.eviction(),
			Err: errors.Join(a.Err, cause), Number: l.wrongNumber(i),
		}
		if a.Err != nil {
			continue
		}
		all[i].Latency = a.Received.Sub(a.Sent)
		all[i].ClockOffset, _ = l.clocks.Offset(i)
		all[i].Guard = l.guardLeft(n)
		all[i].Err = errors.Join(l.unfit(i, n), l.clocks.Distrust(i, a.Received))
		for j, other := range answers[:i] {
			if other.Err == nil && n.identity != 0 && n.identity == other.Value.identity {
				all[i].Err = errors.Join(all[i].Err, l.errTwin(j))
			}
		}
	}
	return all
}

// guardLeft is for how long the node grants nothing.
func (l *Locker) guardLeft(n inspection) time.Duration {
	if !n.hasGuard {
		return milliseconds(l.longestLease()) // it begins with the first request
	}
	return n.guard
}

// inspection is what a server says of itself.
type inspection struct {
	identity                        uint64
	runID, version, role, maxmemory string
	policy                          string
	hasGuard                        bool
	guard                           time.Duration // for how long it grants nothing
	longest                         time.Duration // lease that the guard knows of
	layout                          error         // the hash was written by another version
}

func (n inspection) eviction() string {
	if n.maxmemory == "0" {
		return "noeviction"
	}
	return n.policy
}

func readInspection(r *quorum.Reply) (inspection, error) {
	n := inspection{identity: r.Identity}
	code, left, longest, err := item(r)
	if err != nil {
		return n, err
	}
	if err := checkGuard(left, longest); err != nil {
		return n, err
	}
	n.hasGuard, n.guard, n.longest = code == 'g', milliseconds(left), milliseconds(longest)
	for range 3 {
		info, err := r.Text()
		if err != nil {
			return n, err
		}
		n.read(info)
	}
	if code == 'e' {
		n.layout = readError(r)
	}
	return n, nil
}

// read takes from a section of INFO what is of interest.
func (n *inspection) read(info string) {
	for line := range strings.Lines(info) {
		field, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "run_id":
			n.runID = text
		case "redis_version":
			n.version = cmp.Or(n.version, text)
		case "valkey_version": // its redis_version is the one that it is compatible with
			n.version = text
		case "role":
			n.role = text
		case "maxmemory":
			n.maxmemory = text
		case "maxmemory_policy":
			n.policy = text
		}
	}
}

// inspected judges a node that was reached for the first time, or again: the error is why it must not be asked anything.
func (l *Locker) inspected(node int, a quorum.Answer[inspection]) error {
	if a.Err != nil {
		return a.Err
	}
	var before inspection
	again := l.observed.change(node, func(s *nodeState) bool {
		again := s.inspected
		before, s.inspection, s.inspected = s.inspection, a.Value, true
		return again
	})
	if again {
		l.observeChange(node, before, a.Value)
	}
	l.observeLongest(node, a.Value.longest)
	err := l.unfit(node, a.Value)
	l.observeFailure(node, inFitness, "inspect", cmp.Or(err, l.observeTwins(node, a.Value)))
	return err
}

// observeChange tells which of run and replication has changed where the identity of a server did: a guard follows.
func (l *Locker) observeChange(node int, before, after inspection) {
	switch {
	case before.identity == after.identity || before.identity == 0 || after.identity == 0:
	case before.runID != after.runID:
		l.tellError(node, "guard", fmt.Errorf("another run of the server, %.8s after %.8s: it restarted, or the address leads "+
			"to another one", after.runID, before.runID))
	default:
		l.tellError(node, "guard", fmt.Errorf("the same run of the server, %.8s, with another replication id: it was promoted, "+
			"or its first replica or a backup connection came, or the backlog of replication was freed", after.runID))
	}
}

// observeTwins returns why a node has no vote if one before it is the same server, and tells of those behind it that are.
// The votes look at that themselves, since any address may lead to another server by now.
func (l *Locker) observeTwins(node int, n inspection) (err error) {
	for other := range l.size {
		same := other != node && n.identity != 0 && l.observed.change(other, func(s *nodeState) bool {
			return s.inspected && s.identity == n.identity
		})
		switch {
		case same && other < node:
			err = l.errTwin(other)
		case same:
			l.observeFailure(other, inFitness, "inspect", l.errTwin(node))
		}
	}
	return err
}

func (l *Locker) errTwin(of int) error {
	return fmt.Errorf("%w: it is the same server as %s", errUnfit, l.quorum.Addr(of))
}

// unfit is why a node is not fit to hold a lock.
func (l *Locker) unfit(node int, n inspection) error {
	switch e := n.eviction(); {
	case n.layout != nil:
		return fmt.Errorf("%w: %w", errUnfit, n.layout)
	case n.role == "slave":
		return fmt.Errorf("%w: it is a replica", errUnfit)
	case n.version != "" && older(n.version, oldest):
		return fmt.Errorf("%w: its version is %s, it must be %s or later", errUnfit, n.version, oldest)
	case n.identity == 0 && !l.settings.UnseenRestarts && l.settings.RestartGuard:
		return errBlind
	case n.identity == 0:
		l.observeDenied(node, "inspect", errors.New("INFO is not permitted or says nothing: role, eviction and version "+
			"are not checked, and a restart is seen only where the data is gone"))
	case !keepsLocks(e):
		l.observeDenied(node, "eviction", fmt.Errorf("maxmemory-policy is %s: when memory is short all locks of the node "+
			"may go at once; it then grants nothing for %v, and no lock is given twice", e, l.settings.MaxTTL))
	}
	return nil
}

// keepsLocks reports whether a server with that eviction policy evicts no key without a TTL. New versions and forks have
// policies of other names.
func keepsLocks(policy string) bool {
	return policy == "" || policy == "noeviction" || strings.HasPrefix(policy, "volatile-")
}

// older compares versions by their numbers.
func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		x, err1 := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err1 != nil || err2 != nil || x != y {
			return x < y
		}
	}
	return false
}
