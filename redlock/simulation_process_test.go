package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/testkit/faultplan"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// turn is one hold that a process tries to get, and what the process does with it.
type turn struct {
	Wait     time.Duration // before it asks
	Try      bool          // only once
	Patience time.Duration // limit of the wait otherwise
	TTL      time.Duration
	Auto     bool // extend in the background
	Manual   int  // manual extensions
	Hold     time.Duration
	Abandon  bool // rather than release
}

func drawTurn(t *rapid.T) turn {
	ms := func(from, to int, label string) time.Duration {
		return faultplan.Between(time.Duration(from)*time.Millisecond, time.Duration(to)*time.Millisecond).
			Draw(t, label)
	}
	return turn{
		Wait:     ms(20, 600, "wait"),
		Try:      rapid.Bool().Draw(t, "try"),
		Patience: ms(1, 1000, "waitLimit"),
		TTL:      rapid.SampledFrom([]time.Duration{simTTL, simTTL / 2}).Draw(t, "ttl"),
		Auto:     rapid.Bool().Draw(t, "auto"),
		Manual:   rapid.IntRange(0, 2).Draw(t, "manual"),
		Hold:     ms(0, 1500, "hold"),
		Abandon:  rapid.IntRange(0, 3).Draw(t, "abandon") == 3,
	}
}

// process is one contender. It repeats its turns.
type process struct {
	w      *world
	name   string
	life   int // number of crashed predecessors
	turns  []turn
	links  *nodetest.Links
	nodes  []redis.UniversalClient
	clock  *clock.Clock
	locker *redlock.Locker
	dead   chan struct{} // closed when it has crashed

	mu     sync.Mutex    // guards paused
	paused chan struct{} // closed when the process resumes; nil if it is not paused
}

func (w *world) newProcess(i, life int) *process {
	p := &process{
		w: w, name: fmt.Sprintf("%d.%d", i, life), life: life, turns: w.plan.turns[i],
		links: w.Links(), clock: clock.New(), dead: make(chan struct{}),
	}
	for node := range w.plan.nodes {
		options := p.links.Options(node)
		options.PoolSize = 100 // or go-redis redials an unreachable node only once a second
		if i%2 == 1 {          // as redlock.Open sets it; otherwise go-redis's defaults
			options.ContextTimeoutEnabled = true
			options.MaxRetries = 1
		}
		p.nodes = append(p.nodes, redis.NewClient(options))
	}
	var err error
	p.locker, err = redlock.New(p.nodes, redlock.WithTTL(simTTL), redlock.WithNodeTimeout(simNodeTimeout),
		redlock.WithClock(p.clock))
	if err != nil {
		panic(err)
	}
	w.all = append(w.all, p)
	return p
}

// run takes turns until the world stops or the process has crashed.
func (p *process) run() {
	for n := 0; p.w.ctx.Err() == nil && p.goesOn(); n++ {
		p.turn(fmt.Sprintf("%s/%d", p.name, n), p.turns[n%len(p.turns)])
	}
}

func (p *process) turn(name string, t turn) {
	if !p.sleep(t.Wait, nil) || p.w.ctx.Err() != nil {
		return
	}
	h := p.w.ask(p, name)
	lease, err := p.acquire(name, t)
	if err != nil {
		p.w.fail(h, err)
		return
	}
	p.w.take(h, lease)
	for i := range t.Manual + 1 {
		if !p.sleep(t.Hold/time.Duration(t.Manual+1), lease.Context().Done()) {
			return
		}
		if i < t.Manual {
			err := lease.Extend(p.w.ctx)
			p.w.note(name, "extends to %v: %v", lease.Deadline().Sub(p.w.start), err)
		}
	}
	if !p.goesOn() {
		return
	}
	p.w.giveUp(h, t.Abandon)
	if !t.Abandon {
		err := lease.Release(p.w.ctx)
		p.w.note(name, "released: %v", err)
	}
}

func (p *process) acquire(name string, t turn) (*redlock.Lease, error) {
	opts := []redlock.AcquireOption{redlock.WithValue(name), redlock.WithLeaseTTL(t.TTL)}
	if t.Auto {
		opts = append(opts, redlock.WithAutoExtend(redlock.Extension{}))
	}
	if t.Try {
		return p.locker.TryAcquire(p.w.ctx, "x", opts...)
	}
	ctx, cancel := context.WithTimeout(p.w.ctx, t.Patience)
	defer cancel()
	return p.locker.Acquire(ctx, "x", opts...)
}

// sleep ends early when the world stops or on another event. While the process is paused, it continues. It returns
// false if the process has crashed.
func (p *process) sleep(d time.Duration, other <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-other:
	case <-p.w.ctx.Done():
	case <-p.dead:
	}
	return p.goesOn()
}

// goesOn waits while the process is paused. It returns false if the process has crashed.
func (p *process) goesOn() bool {
	p.mu.Lock()
	paused := p.paused
	p.mu.Unlock()
	if paused != nil {
		select {
		case <-paused:
		case <-p.dead:
		}
	}
	return !p.isDead()
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// pause has the effect of SIGSTOP, as far as the nodes and the user's code can tell.
func (p *process) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == nil {
		p.paused = make(chan struct{})
	}
}

func (p *process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
		p.links.Heal()
	}
}

// stayPaused keeps the links of a paused process silent.
func (p *process) stayPaused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != nil {
		p.links.Hang()
	}
}

// crash has the effect of SIGKILL: requests already sent arrive, nothing is released.
func (p *process) crash() {
	if p.isDead() {
		return
	}
	close(p.dead)
	p.w.leave(p)
	p.w.ending.Go(func() { p.end(0) })
}

// end closes the Locker, which may take so long to clean up, and the clients.
func (p *process) end(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if within > 0 {
		_ = p.locker.Close(ctx) // its error lists held and leftover locks, which do not matter here
	}
	for _, node := range p.nodes {
		_ = node.Close() // it is open
	}
	p.links.Close()
	_ = p.locker.Close(ctx) // it could not reach any node
}
