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

// oldest is the oldest Redis version that this package is tested with.
const oldest = "6.2"

// NodeStatus is the state of one node.
type NodeStatus struct {
	Addr        string
	Role        string        // master or slave; empty if INFO is not permitted
	Version     string        // of the Redis or Valkey server
	Eviction    string        // policy; noeviction if no maxmemory is set; allkeys-... costs availability
	Latency     time.Duration // of this call
	Guard       time.Duration // how long it still grants nothing, because it may have lost a lease
	ClockOffset time.Duration // from the median of all nodes' clocks
	Err         error         // why its votes do not count, nil if they do
	Number      error         // fencing number ahead of the clocks, seen in the last minute; a minority with it has no vote
}

// Nodes asks every node for its state, and returns them in the order of the list. It returns when all have answered, at
// the latest after the node timeout or when ctx is done.
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
		all[i].Latency = a.Took
		all[i].ClockOffset, _ = l.clocks.Offset(i)
		all[i].Guard = l.guardLeft(n)
		all[i].Err = errors.Join(l.unfit(i, n), l.clocks.Distrust(i, a.Received))
		for j, other := range answers[:i] {
			if other.Err == nil && n.identity != 0 && n.identity == other.Value.identity {
				all[i].Err = errors.Join(all[i].Err, l.jury.errTwin(j))
			}
		}
	}
	l.judgeClocks(all)
	return all
}

// judgeClocks gives an error to the nodes whose clocks agree with too few others for their votes to count. It gives
// none if too few nodes answer, because their clocks are then not the reason.
func (l *Locker) judgeClocks(all []NodeStatus) {
	var well []int
	for i := range all {
		if all[i].Err == nil {
			well = append(well, i)
		}
	}
	if len(well) < l.need {
		return
	}
	for _, i := range well {
		agreeing := 0
		for _, j := range well {
			if len(l.clocks.Agree([]int{i, j})) == 2 { // i agrees with itself
				agreeing++
			}
		}
		if agreeing < l.need && all[i].ClockOffset.Abs() > l.settings.MaxClockSkew {
			all[i].Err = l.jury.errSkewed(i)
		}
	}
}

// guardLeft returns how long the node still grants nothing.
func (l *Locker) guardLeft(n inspection) time.Duration {
	if !n.hasGuard {
		return milliseconds(l.settings.longestLease()) // the guard starts with the first request
	}
	return n.guard
}

// inspection is what a server reports about itself.
type inspection struct {
	identity                        uint64
	runID, version, role, maxmemory string
	policy                          string
	hasGuard                        bool
	guard                           time.Duration // how long the server still grants nothing
	longest                         time.Duration // longest lease that the guard knows of
	layout                          error         // set if another version wrote the hash
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

// read takes the fields it needs from a section of INFO.
func (n *inspection) read(info string) {
	for line := range strings.Lines(info) {
		field, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "run_id":
			n.runID = text
		case "redis_version":
			n.version = cmp.Or(n.version, text)
		case "valkey_version": // its redis_version names the compatible Redis version
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

// inspected checks a node at each new connection. The error is why the node must not be used.
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

// observeChange reports why the identity of a server changed: another run or another replication id. A guard follows.
func (l *Locker) observeChange(node int, before, after inspection) {
	switch {
	case before.identity == after.identity || before.identity == 0 || after.identity == 0:
	case before.runID != after.runID:
		l.reportError(node, "guard", fmt.Errorf("another run of the server, %.8s after %.8s: it restarted, or the address now "+
			"leads to another server", after.runID, before.runID))
	default:
		l.reportError(node, "guard", fmt.Errorf("the same run of the server, %.8s, with another replication id: it was promoted, "+
			"its first replica or a backup connected, or the replication backlog was freed", after.runID))
	}
}

// observeTwins returns why a node has no vote if an earlier node is the same server, and reports later nodes that are
// the same server. The votes check this themselves as well, since any address may lead to another server by now.
func (l *Locker) observeTwins(node int, n inspection) (err error) {
	for other := range l.size {
		same := other != node && n.identity != 0 && l.observed.change(other, func(s *nodeState) bool {
			return s.inspected && s.identity == n.identity
		})
		switch {
		case same && other < node:
			err = l.jury.errTwin(other)
		case same:
			l.observeFailure(other, inFitness, "inspect", l.jury.errTwin(node))
		}
	}
	return err
}

// unfit returns why a node cannot be used for locks, or nil.
func (l *Locker) unfit(node int, n inspection) error {
	switch e := n.eviction(); {
	case n.layout != nil:
		return fmt.Errorf("%w: %w", errUnfit, n.layout)
	case n.role == "slave":
		return fmt.Errorf("%w: it is a replica", errUnfit)
	case n.version != "" && older(n.version, oldest):
		return fmt.Errorf("%w: its version is %s, it must be %s or later", errUnfit, n.version, oldest)
	case n.identity == 0 && !l.settings.UnseenRestarts && l.settings.RestartGuard:
		return errNoIdentity
	case n.identity == 0:
		l.observeDenied(node, "inspect", errors.New("INFO is not permitted or says nothing: role, eviction and version "+
			"are not checked, and a restart is detected only if the data is gone"))
	case !keepsLocks(e):
		l.observeDenied(node, "eviction", fmt.Errorf("maxmemory-policy is %s: when memory is short the node may lose all locks "+
			"at once; it then grants nothing for %v, and no lock is granted twice", e, l.settings.MaxTTL))
	}
	return nil
}

// keepsLocks reports whether a server with that eviction policy never evicts keys without a TTL. New versions and forks
// have policies with other names.
func keepsLocks(policy string) bool {
	return policy == "" || policy == "noeviction" || strings.HasPrefix(policy, "volatile-")
}

// older compares versions number by number.
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
