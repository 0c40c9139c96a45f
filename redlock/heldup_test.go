package redlock_test

import (
	"context"
	"encoding"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// heldUp is a client hook that delays one command by half of the node timeout, or all of them.
type heldUp struct {
	always time.Duration              // by which all are delayed; 0: one is
	sends  func(cmd redis.Cmder) bool // picks the command
	lost   bool                       // the call fails at once, but the command still arrives
	raw    *redis.Client              // the client that delivers it then
	passed atomic.Bool
}

func (*heldUp) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*heldUp) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *heldUp) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.always > 0 {
			time.Sleep(h.always)
		}
		if h.always > 0 || !h.sends(cmd) || h.passed.Swap(true) {
			return next(ctx, cmd)
		}
		if !h.lost {
			time.Sleep(nodeTimeout / 2)
			return next(ctx, cmd)
		}
		args := slices.Clone(cmd.Args())
		for i, arg := range args {
			if script, ok := arg.(encoding.BinaryMarshaler); ok { // go-redis calls it when it writes the command
				args[i], _ = script.MarshalBinary()
			}
		}
		late := redis.NewCmd(context.WithoutCancel(ctx), args...)
		go func() { // ends with the call, before the bubble
			time.Sleep(nodeTimeout / 2)
			_ = h.raw.Process(context.WithoutCancel(ctx), late)
		}()
		err := errors.New("connection reset")
		cmd.SetErr(err)
		return err
	}
}

// lockerWith makes a Locker of another process that uses these client hooks for some nodes.
func lockerWith(c *bubble.Cluster, hooks map[int]*heldUp) *redlock.Locker {
	c.T.Helper()
	links := c.Links()
	clients := links.Clients()
	for i, hook := range hooks {
		options := links.Options(i)
		options.ContextTimeoutEnabled = true
		client := redis.NewClient(options)
		client.AddHook(hook)
		hook.raw = c.Raw()[i]
		clients[i] = client
		c.T.Cleanup(func() { _ = client.Close() }) // it is open
	}
	l, err := redlock.New(clients)
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			c.T.Error(err)
		}
	})
	return l
}
