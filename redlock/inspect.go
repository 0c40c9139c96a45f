package redlock

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// oldest is the oldest Redis version that this package is tested with.
const oldest = "6.2"

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
	now := a.Value
	if err := changeOf(l.observed.replace(node, now), now); err != nil {
		l.report(node, NodeEvent{Kind: NodeChanged, Err: err})
	}
	l.seeLongest(node, now.longest)
	unfit := l.unfit(now)
	l.problem(node, "inspect", cmp.Or(unfit, l.seeTwins(node, now), l.losesLocks(now)))
	return unfit
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

// seeTwins returns why a node has no vote if an earlier node is the same server, and reports later nodes that are the
// same server. The votes check this themselves as well, since any address may lead to another server by now.
func (l *Locker) seeTwins(node int, n inspection) (err error) {
	for other := range l.size {
		switch its, _ := l.observed.get(other); {
		case n.identity == 0 || its.identity != n.identity:
		case other < node:
			err = l.jury.errTwin(other)
		case other > node:
			l.problem(other, "inspect", l.jury.errTwin(node))
		}
	}
	return err
}

// unfit returns why a node cannot be used for locks, or nil.
func (l *Locker) unfit(n inspection) error {
	switch {
	case n.layout != nil:
		return fmt.Errorf("%w: %w", errUnfit, n.layout)
	case n.role == "slave":
		return fmt.Errorf("%w: it is a replica", errUnfit)
	case n.version != "" && older(n.version, oldest):
		return fmt.Errorf("%w: its version is %s, it must be %s or later", errUnfit, n.version, oldest)
	case n.identity == 0 && !l.settings.UnseenRestarts && l.settings.RestartGuard:
		return errNoIdentity
	}
	return nil
}

// losesLocks returns how a node that is used may lose locks, or nil.
func (l *Locker) losesLocks(n inspection) error {
	policy := n.eviction()
	switch {
	case n.identity == 0:
		return errors.New("INFO is not permitted or says nothing: role, eviction and version are not checked, and a restart " +
			"is detected only if the data is gone")
	case !keepsLocks(policy):
		return fmt.Errorf("maxmemory-policy is %s: when memory is short the node may lose all locks at once; it then "+
			"grants nothing for %v, and no lock is granted twice", policy, l.settings.MaxTTL)
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
