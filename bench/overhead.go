package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	overheadRounds = 15
	nodeCalls      = 100
)

// overhead is what package redlock adds to the least that a lock on five nodes does. Of the time on a
// node, guard, fence and push are the difference, and of that the guard by itself is shown as well.
func (b *bench) overhead(ctx context.Context) error {
	addrs := b.cluster.Addrs()
	ours, err1 := openOurs(clientsOf(addrs))
	unguarded, err2 := openOurs(clientsOf(addrs), redlock.WithoutRestartGuard(),
		redlock.WithKeyPrefix("unguarded"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	bare := openBare(addrs, ours.locker.Settings().NodeTimeout)
	return withPeers(ctx, []peer{ours, unguarded, bare}, func() error {
		one, err := b.race(ctx, ours, bare, overheadRounds, pairs(1))
		if err != nil {
			return err
		}
		many, err := b.race(ctx, ours, bare, overheadRounds, pairs(16))
		if err != nil {
			return err
		}
		var micros [3][]float64
		for range overheadRounds {
			for i, p := range []peer{ours, unguarded, bare} {
				took, err := b.nodeTime(ctx, p)
				if err != nil {
					return err
				}
				micros[i] = append(micros[i], took)
			}
		}
		with, noGuard, least := median(micros[0]), median(micros[1]), median(micros[2])
		b.report.operation("beside bare scripts, 1 goroutine", one, "bare scripts")
		b.report.throughput("beside bare scripts, 16 goroutines", many, "bare scripts")
		b.report.compare("guard, fence and push", "µs/node", with, least, with/least, "bare scripts")
		b.report.compare("", "µs/node", with, noGuard, with/noGuard, "without the guard")
		return nil
	})
}

// nodeTime is how many microseconds one node spends in the scripts of an acquire and a release.
func (b *bench) nodeTime(ctx context.Context, p peer) (float64, error) {
	before, err := b.scriptTime(ctx)
	if err != nil {
		return 0, err
	}
	for range nodeCalls {
		if err := acquireAndRelease(ctx, p); err != nil {
			return 0, err
		}
	}
	after, err := b.scriptTime(ctx)
	return float64(after-before) / nodeCalls / nodes, err
}

var (
	bareAcquire = quorum.NewScript("bare acquire",
		`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`)
	bareRelease = quorum.NewScript("bare release",
		`return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`)
)

// barePeer is the least that a lock on five nodes does, by the same way to the nodes.
type barePeer struct {
	quorum  *quorum.Quorum
	clients []redis.UniversalClient
}

func openBare(addrs []string, timeout time.Duration) barePeer {
	clients := clientsOf(addrs)
	return barePeer{quorum.New(clients, addrs, quorum.Config{
		Timeout: timeout, Now: time.Now, Scripts: []*quorum.Script{bareAcquire, bareRelease},
	}), clients}
}

func (p barePeer) acquire(ctx context.Context, name string) (hold, error) {
	h := bareHold{p.quorum, []string{lockKey(name)}, rand.Text()}
	return h, h.ask(ctx, bareAcquire.Call(h.keys, h.value, ttl.Milliseconds()))
}

func (p barePeer) close(ctx context.Context) error {
	return errors.Join(p.quorum.Close(ctx), closeAll(p.clients))
}

type bareHold struct {
	quorum *quorum.Quorum
	keys   []string
	value  string
}

func (h bareHold) Extend(context.Context) error { return errors.ErrUnsupported }

func (h bareHold) Release(ctx context.Context) error {
	return h.ask(ctx, bareRelease.Call(h.keys, h.value))
}

func (h bareHold) ask(ctx context.Context, call quorum.Call) error {
	enough := func(answers []quorum.Answer) bool {
		yes := 0
		for _, a := range answers {
			if a.Over && a.Reply == int64(1) {
				yes++
			}
		}
		return yes >= h.quorum.Majority()
	}
	round, err := h.quorum.Ask(ctx, call, enough)
	if err == nil && !enough(round.Answers()) {
		err = errors.New("bare: no quorum")
	}
	return err
}
