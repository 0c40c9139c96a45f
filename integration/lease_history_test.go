//go:build unix

package integration_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	contenders = 4
	leaseNodes = 3

	// seedVariable may have the seed of an earlier run, to repeat its plan.
	seedVariable = "REDLOCKFX_TEST_SEED"
)

var leaseFaults = flag.Duration("lease.faults", 15*time.Second, "how long the lease of processes has faults")

// leaseHistory records the events of contenders for one lock, behind faulty links to faulty nodes.
type leaseHistory struct {
	t     *testing.T
	plan  faults
	nodes *redisproc.Cluster
	links [contenders][leaseNodes]*redisproc.Proxy

	// Used only by the goroutine that kills and stops them, and by end.
	contenders map[int]*process
	started    int

	witness *witness

	asked  chan struct{} // has a token if a contender says that a person must act
	person sync.WaitGroup

	mu     sync.Mutex // guards the field below
	events []integration.Event
}

func TestLease_HistoryOfProcessesUnderFaultsIsThatOfALock(t *testing.T) {
	t.Parallel()
	h := &leaseHistory{
		t: t, plan: newFaults(newSeed(t), *leaseFaults), nodes: startNodes(t, leaseNodes, persist...),
		contenders: make(map[int]*process), asked: make(chan struct{}, 1),
	}
	byPerson := lockerOn(t, clients(t, h.nodes.Addrs()...), redlock.WithTTL(leaseTTL), redlock.WithNodeTimeout(leaseTTL/4))
	t.Cleanup(h.end)
	h.witness = watchNodes(t, h.nodes, leaseTTL)
	h.person.Go(func() { h.joinNodes(byPerson) }) // ends with the context of the test, and h.end waits for it
	for i := range contenders {
		for j := range leaseNodes {
			link, err := h.nodes.Node(j).Proxy()
			must(t, err)
			h.links[i][j] = link
		}
		h.start(i)
	}

	var faulting sync.WaitGroup
	for _, row := range h.plan {
		faulting.Go(func() { // ends with the plan
			for _, f := range row {
				if err := f.play(h); err != nil {
					t.Errorf("%s: %v", f.what, err)
				}
			}
		})
	}
	faulting.Wait()
	poll(t, "five leases, which show something", func() bool { return h.count()[acquired] >= 5 })
}

// count returns how many events there are of each kind.
func (h *leaseHistory) count() map[integration.Kind]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := make(map[integration.Kind]int)
	for _, e := range h.events {
		counts[e.Kind]++
	}
	return counts
}

// joinNodes does what a person is told to do: after two of three nodes have lost their data, contenders behind different links cannot know
// that they have the same nodes.
func (h *leaseHistory) joinNodes(l *redlock.Locker) {
	for {
		select {
		case <-h.asked:
			_ = inside.Of(l).JoinNodes(h.t.Context()) // of a node that is away it says so
		case <-h.t.Context().Done():
			return
		}
	}
}

// conclude tells the checker of the leases, in the order of their tokens: their events come from several processes.
func (h *leaseHistory) conclude() {
	decided := slices.DeleteFunc(slices.Clone(h.events), func(e integration.Event) bool { return e.Kind != acquired })
	slices.SortFunc(decided, func(a, b integration.Event) int { return cmp.Compare(a.Token, b.Token) })
	for _, e := range decided {
		h.witness.Granted(leaseName, e.Replica, e.Token)
	}
}

// newSeed returns the seed from the environment variable, or a random one, and logs it.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("to play the same plan again: %s=%d", seedVariable, seed)
	return seed
}

// start starts a contender, replacing one that is gone.
func (h *leaseHistory) start(i int) {
	h.started++
	s := settings{Name: fmt.Sprint("contender ", h.started), Contends: true}
	for _, link := range h.links[i] {
		s.Nodes = append(s.Nodes, link.Addr())
	}
	h.contenders[i] = startProcess(h.t, s, h.add)
}

func (h *leaseHistory) add(e integration.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	if e.Kind == failed && strings.Contains(e.Text, "nodes --join") {
		select {
		case h.asked <- struct{}{}:
		default: // somebody has asked
		}
	}
}

// end kills the contenders and checks their history.
func (h *leaseHistory) end() {
	h.person.Wait()
	for _, p := range h.contenders {
		p.kill()
	}
	h.witness.end(h.t, h.conclude)
	h.t.Logf("%d contenders counts: %v", h.started, h.count())
	result, info := porcupine.CheckOperationsVerbose(leaseModel, operations(h.events), waitLimit)
	if result != porcupine.Ok {
		h.t.Errorf("no lock has that history: porcupine says %s", result)
	}
	if !h.t.Failed() {
		return
	}
	picture := filepath.Join(h.t.ArtifactDir(), "lease.html")
	if err := porcupine.VisualizePath(leaseModel, info, picture); err != nil {
		h.t.Error(err)
	}
	h.t.Logf("picture, kept with -artifacts: %s\nplan:\n%v", picture, h.plan)
	for _, e := range h.events {
		if e.Kind == failed {
			h.t.Logf("%s, from %v to %v: %s", e.Replica, e.Since, e.At, e.Text)
		}
	}
	for _, p := range h.contenders {
		h.t.Logf("stderr of %s:\n%s", p.Name, p.stderr.String())
	}
}
