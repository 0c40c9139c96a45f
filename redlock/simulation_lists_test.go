package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/replay"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Deploys change the list of nodes while processes with older lists run, are cut off, and nodes restart and lose their data. No two leases
// are valid at a time, tokens increase, and in the end the processes with the newest list get the lock, at most after a person has
// accepted it.
func TestSimulation_OfListsThatChange(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	won, accepted, steps := 0, 0, 0
	rules := make(map[replay.Rule]int)
	for n := range *plans {
		synctest.Test(t, func(t *testing.T) {
			w := newDeploys(t, rand.New(rand.NewPCG(seed, uint64(n))))
			w.play()
			won, steps = won+w.won, steps+w.replay.AddTo(rules)
			if w.accepted {
				accepted++
			}
			if len(w.broken) > 0 {
				t.Fatalf("plan %d of seed %d: %s\n%s", n, seed, strings.Join(w.broken, "\n"), strings.Join(w.events, "\n"))
			}
		})
	}
	t.Logf("%d plans with %d leases, of which %d ended with a list that a person had to accept", *plans, won, accepted)
	if won < *plans {
		t.Errorf("%d leases in %d plans: they show nothing", won, *plans)
	}
	t.Logf("replayed: %d steps; by rule:%s", steps, replay.Counts(rules))
}

// deploys are the nodes and processes of one plan.
type deploys struct {
	*nodetest.Cluster
	t         *testing.T
	rand      *rand.Rand
	start     time.Time
	processes []*deployed
	running   sync.WaitGroup
	lists     [][]int
	accepted  bool // by a person
	replay    *replay.Checker

	mu     sync.Mutex // guards the fields below
	leases []*redlock.Lease
	token  uint64
	won    int
	events []string
	broken []string
}

// deployed is a process of one deploy. It takes the lock again and again.
type deployed struct {
	name   string
	nodes  []int
	links  *nodetest.Links
	locker *redlock.Locker
	ctx    context.Context
	stop   context.CancelFunc
}

const deployNodes = 8

func newDeploys(t *testing.T, r *rand.Rand) *deploys {
	w := &deploys{Cluster: nodetest.Start(deployNodes), t: t, rand: r, start: time.Now()}
	t.Cleanup(w.Cluster.Close)
	w.replay = replay.New(records.Default.Hash(), deployNodes, simTTL)
	for i := range deployNodes {
		w.SetPreHook(i, func(_ *server.Peer, command string, args ...string) bool {
			w.replay.Command(i, time.Now(), command, args...)
			return false
		})
	}
	return w
}

// changes are the lists of nodes of one deploy after the other.
var changes = [][][]int{
	{{0}, {0, 1, 2}, {0, 1, 2, 3, 4}},
	{{0, 1, 2}, {0, 1, 2, 3, 4}, {0, 1, 2}},
	{{0, 1, 2, 3, 4}, {2, 3, 4}, {2, 3, 4, 5, 6}},
	{{0, 1, 2}, {0, 1, 3}, {0, 1, 2}},
	{{0, 1, 2}, {3, 1, 2}, {3, 4, 2}},
	{{0, 1, 2, 3, 4}, {0, 1, 2, 5, 6}, {7, 1, 2, 5, 6}},
	{{0}, {0, 1, 2}, {0}},
	{{0, 1, 2}, {1}, {1, 3, 4}},
	unchanged, unchanged,
}

// unchanged is a list that stays the same, while any number of its nodes lose their data.
var unchanged = [][]int{{0, 1, 2}, {2, 1, 0}, {0, 1, 2}}

func (w *deploys) play() {
	lists := changes[w.rand.IntN(len(changes))]
	w.lists = lists
	w.note("lists %v", lists)
	w.deploy(lists[0])
	w.deploy(lists[0])
	time.Sleep(3 * simTTL)
	lost := w.rand.IntN(3) > 0 // or none loses its data
	for _, list := range lists[1:] {
		for range 8 + w.rand.IntN(8) {
			time.Sleep(time.Duration(w.rand.Int64N(int64(simTTL))))
			switch p := w.processes[w.rand.IntN(len(w.processes))]; w.rand.IntN(8) {
			case 0, 1:
				w.deploy(list)
			case 2:
				w.end(p)
			case 3:
				node := w.rand.IntN(deployNodes)
				w.note("%s is cut off from %d", p.name, node)
				p.links.Cut(node)
			case 4:
				node := w.rand.IntN(deployNodes)
				w.note("%s gets no replies from %d", p.name, node)
				p.links.DropReplies(node)
			case 5:
				p.links.Delay(time.Duration(w.rand.Int64N(int64(simNodeTimeout / 3))))
			case 6:
				w.note("healed")
				w.Heal()
			case 7:
				node := w.rand.IntN(deployNodes)
				w.note("%d restarts", node)
				w.Kill(node)
				if w.isUnchanged() && w.rand.IntN(3) > 0 || !lost && !w.isOnlyCommon(node) {
					lost = true
					w.note("%d loses its data", node)
					w.Wipe(node)
				}
				w.Restart(node)
				w.replay.Became(node, time.Now(), fieldsOf(w.Cluster, node))
			}
		}
	}
	w.finish(lists[len(lists)-1])
}

// isOnlyCommon reports whether a node is the only one in two of the lists, which keeps its data. The list between them may never be used.
func (w *deploys) isOnlyCommon(node int) bool {
	for i, list := range w.lists {
		for _, other := range w.lists[:i] {
			common := slices.DeleteFunc(slices.Clone(list), func(n int) bool { return !slices.Contains(other, n) })
			if slices.Equal(common, []int{node}) {
				return true
			}
		}
	}
	return false
}

func (w *deploys) isUnchanged() bool {
	return len(w.lists[0]) == len(w.lists[1]) && w.lists[0][0] == w.lists[1][2]
}

// deploy starts a process with these nodes.
func (w *deploys) deploy(nodes []int) *deployed {
	p := &deployed{name: fmt.Sprint("process ", len(w.events)), nodes: nodes, links: w.Links()}
	p.ctx, p.stop = context.WithCancel(w.t.Context())
	all := p.links.Clients()
	var some []redis.UniversalClient
	for _, i := range nodes {
		some = append(some, all[i])
	}
	var err error
	p.locker, err = redlock.New(some, redlock.WithTTL(simTTL), redlock.WithNodeTimeout(simNodeTimeout))
	want.NoError(w.t, err)
	w.note("%s starts with %v", p.name, nodes)
	w.processes = append(w.processes, p)
	hold := time.Duration(w.rand.Int64N(int64(2 * simTTL)))
	w.running.Go(func() { // ends with p.stop
		for p.ctx.Err() == nil {
			w.hold(p, hold)
		}
	})
	return p
}

// hold takes the lock and keeps it for a while.
func (w *deploys) hold(p *deployed, long time.Duration) {
	ctx, cancel := context.WithTimeout(p.ctx, 5*simTTL)
	defer cancel()
	lease, err := p.locker.Acquire(ctx, "x", redlock.WithValue(p.name), redlock.WithAutoExtend(redlock.Extension{}))
	if err != nil {
		w.note("%s: %v", p.name, err)
		return
	}
	w.take(p, lease)
	select {
	case <-time.After(long):
	case <-lease.Context().Done():
	case <-p.ctx.Done():
	}
	w.mu.Lock()
	for i, other := range w.leases {
		if other == lease {
			w.leases = append(w.leases[:i], w.leases[i+1:]...)
			break
		}
	}
	w.mu.Unlock()
	_ = lease.Release(context.Background()) // ends by the node timeout
}

func (w *deploys) take(p *deployed, lease *redlock.Lease) {
	w.note("%s has token %d", p.name, lease.Token())
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.leases {
		if other.Valid() && lease.Valid() {
			w.broken = append(w.broken, fmt.Sprintf("token %d of %s is valid beside token %d", lease.Token(), p.name, other.Token()))
		}
	}
	if lease.Token() <= w.token {
		w.broken = append(w.broken, fmt.Sprintf("token %d after %d", lease.Token(), w.token))
	}
	w.replay.Granted("x", p.name, lease.Token())
	w.leases, w.token, w.won = append(w.leases, lease), max(w.token, lease.Token()), w.won+1
}

func (w *deploys) end(p *deployed) {
	w.note("%s ends", p.name)
	p.stop()
}

// finish ends all processes with older lists, and waits until those with the last one get the lock.
func (w *deploys) finish(last []int) {
	w.Heal()
	for _, p := range w.processes {
		if fmt.Sprint(p.nodes) != fmt.Sprint(last) {
			w.end(p)
		}
	}
	p := w.deploy(last)
	before := w.wins()
	time.Sleep(20 * simTTL)
	if w.wins() == before && !w.isUnchanged() {
		w.accepted = true
		for _, i := range last { // each starts its guard
			w.replay.Became(i, time.Now(), fieldsOf(w.Cluster, i))
		}
		w.note("a person accepts %v: %v", last, inside.Of(p.locker).JoinNodes(w.t.Context()))
		time.Sleep(10 * simTTL)
	}
	if w.wins() == before {
		w.mu.Lock()
		w.broken = append(w.broken, "nobody has the lock in the end")
		w.mu.Unlock()
	}
	for _, p := range w.processes {
		p.stop()
	}
	w.running.Wait()
	for _, p := range w.processes {
		want.NoError(w.t, p.locker.Close(context.Background()))
	}
	if err := w.replay.Err(); err != nil {
		w.broken = append(w.broken, fmt.Sprint("the specification does not allow it: ", err))
	}
}

func (w *deploys) wins() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.won
}

func (w *deploys) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf("%10v ", time.Since(w.start))+fmt.Sprintf(format, args...))
}
