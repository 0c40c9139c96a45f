package redlock

import (
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
	Version     string        // of the server
	Eviction    string        // the policy, and noeviction where no maximum of memory is set
	Latency     time.Duration // of the answer to this call
	Guard       time.Duration // for how long it grants nothing, as it may have forgotten a lease
	ClockOffset time.Duration // from the median of all nodes' clocks
	Err         error         // why its votes do not count, if so
}

// Nodes asks every node how it is, in the order of the list. It returns when all have answered, at
// the latest at the node timeout or when ctx is done.
func (l *Locker) Nodes(ctx context.Context) []NodeStatus {
	round, cause := l.quorum.Ask(ctx, l.inspection(), func([]quorum.Answer) bool { return false })
	all := make([]NodeStatus, l.quorum.Size())
	for i, a := range round.Answers() {
		l.inspectMu.Lock()
		known := l.inspections[i]
		l.inspectMu.Unlock()
		all[i] = NodeStatus{
			Addr: l.quorum.Addr(i), Role: known.role, Version: known.version, Eviction: known.eviction(),
			Err: errors.Join(a.Err, cause),
		}
		if a.Err != nil {
			continue
		}
		all[i].Latency = a.Received.Sub(a.Sent)
		all[i].ClockOffset, _ = l.clocks.Offset(i, a.Received)
		all[i].Guard, all[i].Err = l.standing(i, a)
	}
	return all
}

// standing is for how long the node is guarded, and why its votes do not count.
func (l *Locker) standing(i int, a quorum.Answer) (time.Duration, error) {
	_, left, err := parseInspection(a)
	if err != nil {
		return 0, err
	}
	if err := l.clocks.Distrust(i, a.Received); err != nil {
		return left, err
	}
	if left < 0 && l.settings.RestartGuard {
		left = milliseconds(l.longestLease()) // it begins with the first request
	}
	return max(left, 0), nil
}

func (l *Locker) inspection() quorum.Call {
	return inspectScript.Call([]string{l.guardKey()}, l.settings.MaxTTL.Milliseconds())
}

// inspection is what INFO tells of a server.
type inspection struct{ runID, version, role, maxmemory, policy string }

func (n inspection) eviction() string {
	if n.maxmemory == "0" {
		return "noeviction"
	}
	return n.policy
}

func parseInspection(a quorum.Answer) (n inspection, left time.Duration, err error) {
	fields, ok := a.Reply.([]any)
	if a.Err != nil || !ok || len(fields) != 5 {
		return n, 0, errors.Join(a.Err, unexpected(a.Reply))
	}
	var info strings.Builder
	for _, f := range fields[1:4] {
		fmt.Fprintln(&info, f)
	}
	for line := range strings.Lines(info.String()) {
		field, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "run_id":
			n.runID = text
		case "redis_version":
			n.version = text
		case "role":
			n.role = text
		case "maxmemory":
			n.maxmemory = text
		case "maxmemory_policy":
			n.policy = text
		}
	}
	ms, _ := fields[4].(int64)
	return n, milliseconds(ms), nil
}

// inspected judges a node that was reached for the first time, or again: the error is why it must not
// be asked anything.
func (l *Locker) inspected(node int, a quorum.Answer) error {
	if a.Err != nil {
		return a.Err
	}
	n, _, err := parseInspection(a)
	if err != nil {
		return err
	}
	err = l.unfit(node, n)
	l.observeFailure(node, inFitness, "inspect", err)
	return err
}

// unfit is why a node is not fit to hold a lock.
func (l *Locker) unfit(node int, n inspection) error {
	l.inspectMu.Lock()
	twin := -1
	for i, other := range l.inspections {
		if i != node && other.runID != "" && other.runID == n.runID {
			twin = i
		}
	}
	l.inspections[node] = n
	if twin >= 0 {
		l.inspections[node].runID = "" // or the other one would be refused as well
	}
	l.inspectMu.Unlock()

	switch {
	case n.runID == "":
		l.observeDenied(node, "inspect", errors.New("INFO is not permitted or tells nothing: role, "+
			"eviction and version are not checked, and a restart is seen only where the data is gone"))
	case twin >= 0:
		return fmt.Errorf("%w: it is the same server as %s", errUnfit, l.quorum.Addr(twin))
	case n.role == "slave":
		return fmt.Errorf("%w: it is a replica", errUnfit)
	case n.eviction() != "noeviction" && n.eviction() != "":
		return fmt.Errorf("%w: maxmemory-policy is %s, which may drop locks; it must be noeviction",
			errUnfit, n.policy)
	case older(n.version, oldest):
		return fmt.Errorf("%w: its version is %s, it must be %s or later", errUnfit, n.version, oldest)
	}
	return nil
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
