package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// demands paces, for each node, the ballots that the leader takes because of that node alone: it serves only a larger one, it has
// promised one to an earlier leader, or it has stored what nobody has written. After each ballot all jobs are written again, and a
// node whose clock is ahead, that loses its state again and again, or that lies, demands ballots without end. It gets twelve at
// once, enough for a few restarts in a row, and then one every two minutes. Meanwhile the other nodes serve the leader.
type demands []demand

type demand struct {
	pace retry.Pace
	open bool // since the last ballot
}

func newDemands(nodes int) demands {
	d := make(demands, nodes)
	for i := range d {
		d[i].pace = retry.Pace{Burst: 12, Every: 2 * time.Minute}
	}
	return d
}

// allows returns when a ballot may be taken that a node demands.
func (d demands) allows(node int) time.Time {
	now := time.Now()
	d[node].open = true
	return now.Add(d[node].pace.Wait(now))
}

// taken counts a ballot for the nodes that have demanded one.
func (d demands) taken() {
	for i := range d {
		if d[i].open {
			d[i].open = false
			d[i].pace.Spend(time.Now())
		}
	}
}
