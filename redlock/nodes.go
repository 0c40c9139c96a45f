package redlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

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
		all[i].Latency = a.Took
		all[i].ClockOffset = l.clocks.Offset(i)
		all[i].Guard = n.guard
		if !n.hasGuard { // it starts with the first request
			all[i].Guard = milliseconds(l.settings.longestLease())
		}
		all[i].Err = errors.Join(l.unfit(n), l.clocks.Distrust(i, a.Received, a.Received))
		if twin := twinOf(i, answers); twin >= 0 {
			all[i].Err = errors.Join(all[i].Err, l.jury.errTwin(twin))
		}
	}
	l.addSkewed(all)
	return all
}

// addSkewed adds an error to the nodes whose clocks agree with too few others for their votes to count. It adds none if
// too few nodes answer, because their clocks are then not the reason.
func (l *Locker) addSkewed(all []NodeStatus) {
	var well []int
	for i := range all {
		if all[i].Err == nil {
			well = append(well, i)
		}
	}
	if len(well) < l.need {
		return
	}
	agreeing := l.clocks.Agree(well)
	for _, i := range well {
		counts := len(agreeing) >= l.need && slices.Contains(agreeing, i)
		if !counts && all[i].ClockOffset.Abs() > l.settings.MaxClockSkew {
			all[i].Err = l.jury.errSkewed(i)
		}
	}
}
