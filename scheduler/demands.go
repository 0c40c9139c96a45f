package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// demands paces, for each node, the ballots that the leader takes because of that node alone. A node demands a ballot if it serves
// only a larger one, has promised one to an earlier leader, or has stored a number that nobody has used. Each ballot makes the
// leader write all jobs again. A node whose clock is ahead, that keeps losing its state, or that lies could demand ballots without
// end. So it gets twelve at once, enough for a few restarts in a row, and then one every two minutes. Meanwhile the other nodes
// serve the leader.
type demands []demand

type demand struct {
	pace retry.Pace
	open bool // the node has demanded a ballot since the last one
}

func newDemands(nodes int) demands {
	d := make(demands, nodes)
	for i := range d {
		d[i].pace = retry.Pace{Burst: 12, Every: 2 * time.Minute}
	}
	return d
}

// allows records that a node demands a ballot, and returns when it may be taken.
func (d demands) allows(node int) time.Time {
	now := time.Now()
	d[node].open = true
	return now.Add(d[node].pace.Wait(now))
}

// taken charges a ballot to the nodes that have demanded one.
func (d demands) taken() {
	for i := range d {
		if d[i].open {
			d[i].open = false
			d[i].pace.Spend(time.Now())
		}
	}
}
