//go:build unix

package integration_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// faults are three sequences that run in parallel: faults of processes, of links and of nodes. So faults of different
// kinds may overlap, but not faults of one kind.
type faults [3][]fault

// fault starts after a pause and ends after some time.
type fault struct {
	pause, lasts time.Duration
	what         string
	contender    int   // of a process, or of its links
	nodes        []int // the affected nodes, or the nodes of the affected links
}

// newFaults draws a random plan of the given length. The same seed gives the same plan.
func newFaults(seed uint64, lasts time.Duration) (plan faults) {
	random := rand.New(rand.NewPCG(seed, 0))
	upTo := func(d time.Duration) time.Duration {
		return time.Duration(random.Int64N(int64(d))).Round(time.Millisecond)
	}
	for row, kind := range [len(plan)]struct {
		whats []string
		pause time.Duration // at least
	}{
		{[]string{"kill", "stop"}, leaseTTL / 10},
		{[]string{"cut", "refuse", "delay"}, leaseTTL / 10},
		{append(slices.Sorted(maps.Keys(forgetting)), "hang"), leaseTTL}, // most bring a guard
	} {
		for left := lasts; left > 0; {
			f := fault{
				pause: kind.pause + upTo(leaseTTL), lasts: upTo(3 * leaseTTL / 2),
				what: kind.whats[random.IntN(len(kind.whats))], contender: random.IntN(contenders),
				nodes: random.Perm(leaseNodes)[:[]int{1, 1, 1, 1, 2, 3}[random.IntN(6)]],
			}
			plan[row] = append(plan[row], f)
			left -= f.pause + f.lasts
		}
	}
	return plan
}

func (p faults) String() string {
	var text strings.Builder
	for row, all := range p {
		var at time.Duration
		for _, f := range all {
			at += f.pause
			whom := [len(p)]string{
				fmt.Sprintf("contender %d", f.contender),
				fmt.Sprintf("the links of contender %d to nodes %v", f.contender, f.nodes),
				fmt.Sprintf("nodes %v", f.nodes),
			}[row]
			fmt.Fprintf(&text, "from %v for %v: %s: %s\n", at, f.lasts, whom, f.what)
			at += f.lasts
		}
	}
	return text.String()
}

func (f fault) play(h *leaseHistory) error {
	ctx := h.t.Context()
	return errors.Join(retry.Sleep(ctx, f.pause), f.begin(h), retry.Sleep(ctx, f.lasts), f.end(h))
}

// begin starts the fault. If a node will come back with an older file, begin saves that file first.
func (f fault) begin(h *leaseHistory) (err error) {
	switch f.what {
	case "kill":
		h.contenders[f.contender].signal(syscall.SIGKILL)
	case "stop":
		h.contenders[f.contender].signal(syscall.SIGSTOP)
	}
	for _, i := range f.nodes {
		switch node, link := h.nodes.Node(i), h.links[f.contender][i]; f.what {
		case "cut":
			link.Cut()
		case "refuse":
			link.Refuse()
		case "delay":
			link.Delay(leaseTTL / 15)
		case "hang":
			err = errors.Join(err, node.Hang())
		case "restarted with an older file":
			err = errors.Join(err, node.Backup())
		}
	}
	return err
}

func (f fault) end(h *leaseHistory) (err error) {
	switch f.what {
	case "kill":
		h.contenders[f.contender].kill()
		h.start(f.contender)
	case "stop":
		h.contenders[f.contender].signal(syscall.SIGCONT)
	}
	for _, i := range f.nodes {
		switch node, link := h.nodes.Node(i), h.links[f.contender][i]; f.what {
		case "cut", "refuse", "delay":
			link.Heal()
		case "hang":
			err = errors.Join(err, node.Wake())
		default:
			if forget := forgetting[f.what]; forget != nil {
				err = errors.Join(err, forget(h.t.Context(), node))
			}
		}
	}
	return err
}
