package jobstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// aheadBy returns how far the node's data of a job is ahead of the node's clock, and an error if the state is: somebody else wrote
// it, or the clock was set back.
func (f *Found) aheadBy(now time.Time) (by time.Duration, err error) {
	if f.Kind == None {
		return 0, nil
	}
	if strings.Trim(string(f.At.Ballot[:ballotLen-4]), "0123456789") != "" {
		return 0, fmt.Errorf("the ballot of its state, %q, is none", f.At.Ballot)
	}
	for _, t := range []struct {
		what string
		at   time.Time
	}{{"its mark", f.State.Mark}, {"a time in its state", f.State.newest()}, {"the ballot of its state", f.At.Ballot.Time()}} {
		ahead := t.at.Sub(now)
		if by = max(by, ahead); ahead > Ahead && err == nil {
			err = fmt.Errorf("%s is %w, by %v", t.what, ErrAhead, ahead)
		}
	}
	return by, err
}

// setBack returns how far the clocks of a majority are behind what these nodes have of the i-th job, or zero if they are not. One
// node has a wrong clock, or was written to by somebody else. A majority has what it once stored, so its clocks were set back.
func setBack(promises []Promise, i, majority int) time.Duration {
	var all []time.Duration
	for _, p := range promises {
		if p.Err == nil && p.Jobs[i].Ahead > Ahead {
			all = append(all, p.Jobs[i].Ahead)
		}
	}
	if len(all) < majority {
		return 0
	}
	slices.Sort(all)
	return all[len(all)-majority]
}

// mostApart bounds how much further ahead than a majority a node's state may be. Nodes may lack the newest writes.
const mostApart = 24 * time.Hour

// believingAhead returns the promises with the states of the i-th job that are ahead of their nodes' clocks, about as far as those of
// a majority.
func believingAhead(promises []Promise, i int, by time.Duration) []Promise {
	promises = slices.Clone(promises)
	for n := range promises {
		if p := &promises[n]; p.Err == nil && errors.Is(p.Jobs[i].Err, ErrAhead) && p.Jobs[i].Ahead <= by+mostApart {
			p.Jobs = slices.Clone(p.Jobs)
			p.Jobs[i].Err = nil
		}
	}
	return promises
}
