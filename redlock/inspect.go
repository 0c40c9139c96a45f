package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// inspection is what a server reports about itself.
type inspection struct {
	identity uint64
	runID    string
	version  string // of Redis or Valkey
	role     string
	eviction string // policy
	hasGuard bool
	guard    time.Duration // how long the server still grants nothing
	longest  time.Duration // longest lease that the guard knows of
	layout   error         // set if another version wrote the hash
	list     NodeList
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
	info := make(map[string]string)
	for range 3 {
		section, err := r.Text()
		if err != nil {
			return n, err
		}
		for line := range strings.Lines(section) {
			field, text, _ := strings.Cut(strings.TrimSpace(line), ":")
			info[field] = text
		}
	}
	n.runID, n.role, n.eviction = info["run_id"], info["role"], info["maxmemory_policy"]
	if info["maxmemory"] == "0" {
		n.eviction = "noeviction"
	}
	state, err := r.Text()
	if err != nil {
		return n, err
	}
	n.list = listOf(state)
	// The redis_version of Valkey names the compatible Redis version.
	n.version = cmp.Or(info["valkey_version"], info["redis_version"])
	if code == 'e' {
		n.layout = readError(r)
	}
	return n, nil
}

// inspected checks a node at each new connection. The error is why the node must not be used.
func (o *observed) inspected(node int, a quorum.Answer[inspection]) error {
	if a.Err != nil {
		return a.Err
	}
	now := a.Value
	o.looked(node, a)
	several := o.several(node)
	if err := changeOf(o.replace(node, now), now); err != nil && several == nil {
		o.report(node, NodeEvent{Kind: NodeChanged, Err: err})
	}
	o.seeLongest(node, now.longest)
	unfit := o.unfit(now)
	o.problem(node, "inspect", cmp.Or(unfit, o.losesLocks(now)))
	o.problem(node, addressOf, several)
	o.seeTwins(node, now.identity)
	return cmp.Or(several, unfit)
}

// changeOf returns how the identity of a server has changed, or nil: another run or another replication id.
func changeOf(before, now inspection) error {
	switch {
	case before.identity == now.identity || before.identity == 0 || now.identity == 0:
		return nil
	case before.runID != now.runID:
		return fmt.Errorf("another run of the server, %.8s after %.8s: it restarted, or the address now "+
			"leads to another server", now.runID, before.runID)
	}
	return fmt.Errorf("the same run of the server, %.8s, with another replication id: it was promoted, "+
		"its first replica or a backup connected, or the replication backlog was freed", now.runID)
}

// seeTwins reports nodes that are the same server as an earlier one, and so have no vote. The votes check this themselves
// as well, since any address may lead to another server by now.
func (o *observed) seeTwins(node int, identity uint64) {
	for other := range o.jury.size {
		if other == node || identity == 0 || o.inspection(other).identity != identity {
			continue
		}
		o.problem(max(node, other), "identity", o.jury.errTwin(min(node, other)))
		if other < node {
			return // later ones are the same server as that one
		}
	}
}

// unfit returns why a node cannot be used for locks, or nil.
func (o *observed) unfit(n inspection) error {
	switch {
	case n.layout != nil:
		return fmt.Errorf("%w: %w", errUnfit, n.layout)
	case n.role == "slave":
		return fmt.Errorf("%w: it is a replica", errUnfit)
	case n.version != "" && isTooOld(n.version):
		return fmt.Errorf("%w: its version is %s, %w", errUnfit, n.version, errTooOld)
	case n.identity == 0 && !o.settings.UnseenRestarts && o.settings.RestartGuard:
		return guard.ErrNoIdentity
	}
	return nil
}

// losesLocks returns how a node that is used may lose locks, or nil.
func (o *observed) losesLocks(n inspection) error {
	switch {
	case n.identity == 0:
		return errors.New("INFO is not permitted or says nothing: role, eviction and version are not checked, and a restart " +
			"is detected only if the data is gone")
	case !keepsLocks(n.eviction):
		return fmt.Errorf("maxmemory-policy is %s: when memory is short the node may lose all locks at once; it then "+
			"grants nothing for %v, and no lock is granted twice", n.eviction, o.settings.MaxTTL)
	}
	return nil
}

// keepsLocks reports whether a server with that eviction policy never evicts keys without a TTL. New versions and forks
// have policies with other names.
func keepsLocks(policy string) bool {
	return policy == "" || policy == "noeviction" || strings.HasPrefix(policy, "volatile-")
}

// isTooOld reports whether a version is older than 6.2, the oldest that this package is tested with.
func isTooOld(version string) bool {
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // what is no number is 0
	return major < 6 || major == 6 && minor < 2
}

// NodeStatus is the state of one node.
type NodeStatus struct {
	Addr        string
	Role        string        // master or slave; empty if INFO is not permitted
	Version     string        // of the Redis or Valkey server
	Eviction    string        // policy; noeviction if no maxmemory is set; allkeys-... costs availability
	Latency     time.Duration // of this call
	List        NodeList      // the list of nodes in which the node is
	Guard       time.Duration // how long it still grants nothing, because it may have lost a lease
	ClockOffset time.Duration // from the median of all nodes' clocks
	Err         error         // why its votes do not count, nil if they do
	Denied      error         // rights that this Locker's user lacks, as [NodeDenies] reports them; nil if none is known
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
			n = l.observed.inspection(i)
		}
		all[i] = NodeStatus{
			Addr: l.quorum.Addr(i), Role: n.role, Version: n.version, Eviction: n.eviction, Err: errors.Join(a.Err, cause),
			Denied: l.observed.denied(i),
		}
		if a.Err != nil {
			continue
		}
		all[i].Latency, all[i].List = a.Took, n.list
		all[i].ClockOffset = l.clocks.Offset(i)
		all[i].Guard = n.guard
		if !n.hasGuard { // it starts with the first request
			all[i].Guard = milliseconds(l.settings.longestLease())
		}
		all[i].Err = errors.Join(l.observed.unfit(n), l.clocks.Distrust(i, a.Received, a.Received))
		if all[i].ClockOffset.Abs() > l.settings.MaxClockSkew {
			all[i].Err = errors.Join(all[i].Err, l.jury.errSkewed(i))
		}
		if twin := twinOf(i, answers); twin >= 0 {
			all[i].Err = errors.Join(all[i].Err, l.jury.errTwin(twin))
		}
	}
	return all
}
