package main

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	overheadRounds = 15
	overheadCalls  = 100
	pipelined      = 50
	loadedCalls    = 1280 // by all loaders together
	loaders        = 128
)

// overhead measures the time that a node takes for its part of a grant and of a refusal.
func (b *bench) overhead(ctx context.Context) {
	lockers := b.lockers(ctx, 2)
	bare := func(name string) error {
		return each(nodes, nodes, func(i int) error {
			return bareAcquire.EvalSha(ctx, b.admins[i], []string{barePrefix + name}, name, ttl.Milliseconds()).Err()
		})
	}
	for _, admin := range b.admins {
		check(bareAcquire.Load(ctx, admin).Err())
	}
	medians, ratios := rounds(overheadRounds, 2, func(contestant int) sample {
		if contestant == 0 {
			return b.overheadOf(ctx, bare, bare)
		}
		var mu sync.Mutex
		var held []hold
		s := b.overheadOf(ctx, func(name string) error {
			h, err := lockers[0].wait(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			held = append(held, h)
			return err
		}, func(name string) error {
			if _, err := lockers[1].try(ctx, name); !errors.Is(err, redlock.ErrHeld) {
				b.report.fail(fmt.Errorf("not refused: %w", err))
			}
			return nil
		})
		check(each(len(held), loaders, func(i int) error { return held[i].Release(ctx) }))
		time.Sleep(settling) // meanwhile the nodes answer all requests
		return s
	})
	for figure, what := range []string{"a grant on a node, µs", "a refusal on a node, µs", "a grant under load, µs"} {
		b.report.compare(what, medians[1][figure], medians[0][figure], ratios[1][figure], "SET NX PX in a script")
	}
	recorder := new(recorder)
	recorded := b.open(ctx, 1, func(addrs []string) peer { return recorder.open(addrs) })[0]
	own, _ := rounds(overheadRounds, 1, func(int) sample { return b.overheadInPipelines(ctx, recorded, recorder) })
	for figure, what := range []string{"a grant in a pipeline, µs", "a refusal in a pipeline, µs"} {
		b.report.figure(what, own[0][figure])
	}
}

// overheadOf returns how many µs a node takes for a grant and for a refusal, one after the other, and for a grant while
// many take locks at once. Under that load, one script may grant several locks.
func (b *bench) overheadOf(ctx context.Context, grant, refuse func(name string) error) sample {
	names := nextNames(overheadCalls)
	oneByOne := func(do func(name string) error) float64 {
		calls, micros := b.scriptsDuring(ctx, func() {
			check(each(len(names), 1, func(i int) error { return do(names[i]) }))
		})
		return float64(micros) / float64(calls)
	}
	granted, refused := oneByOne(grant), oneByOne(refuse)
	more := nextNames(loadedCalls)
	_, micros := b.scriptsDuring(ctx, func() {
		check(each(len(more), loaders, func(i int) error { return grant(more[i]) }))
		time.Sleep(settling) // meanwhile the slowest node answers all requests
	})
	return sample{granted, refused, float64(micros) / float64(nodes*len(more))}
}

// overheadInPipelines returns how many µs a node takes for a grant and for a refusal if it carries out one after the
// other, so that its caches have what they need. A Locker would send them in fewer scripts, so they are copies of what
// it sent for one lock.
func (b *bench) overheadInPipelines(ctx context.Context, p peer, sent *recorder) sample {
	name := nextName()
	sent.field = "n:" + name
	h := must(p.try(ctx, name))
	acquire := sent.args
	micros := func(value func(string) string, says string) float64 {
		calls, micros := b.scriptsDuring(ctx, func() {
			for _, admin := range b.admins {
				pipe := admin.Pipeline()
				for i := range pipelined {
					args := slices.Clone(acquire)
					at := slices.Index(args, any(sent.field))
					args[at], args[at+1] = fmt.Sprintf("%s:%d", sent.field, i), value(args[at+1].(string))
					pipe.Do(ctx, args...)
				}
				for _, cmd := range must(pipe.Exec(ctx)) {
					if got := fmt.Sprint(cmd.(*redis.Cmd).Val()); !strings.Contains(got, says) {
						check(fmt.Errorf("the answer to a copy is %q", got))
					}
				}
			}
		})
		return float64(micros) / float64(calls)
	}
	granted := micros(func(value string) string { return value }, " y")
	refused := micros(func(value string) string { return strings.Repeat("x", 26) + value[26:] }, " h") // of somebody else
	check(h.Release(ctx))
	return sample{granted, refused}
}

// recorder is a hook that keeps the arguments of the first script that was called with a field.
type recorder struct {
	field string
	args  []any
	mu    sync.Mutex // guards args
}

// open opens a Locker with clients that have the hook.
func (r *recorder) open(addrs []string) peer {
	var clients []redis.UniversalClient
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}) // so that it is used as it is
		client.AddHook(r)
		clients = append(clients, client)
	}
	return lockerOn(clients)
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.record(cmd.Args())
		return next(ctx, cmd)
	}
}

func (r *recorder) record(args []any) {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case *string:
			args[i] = *arg
		case *int64:
			args[i] = *arg
		case encoding.BinaryMarshaler:
			args[i] = string(must(arg.MarshalBinary()))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(args, any(r.field)) && !slices.Contains(r.args, any(r.field)) {
		r.args = args
	}
}

// scriptsDuring returns how many scripts all nodes together ran during fn, and for how many µs.
func (b *bench) scriptsDuring(ctx context.Context, fn func()) (calls, micros int) {
	add := func(sign int) {
		for _, done := range b.commands(ctx) {
			calls += sign * done["evalsha"].calls
			micros += sign * done["evalsha"].micros
		}
	}
	add(-1)
	fn()
	add(1)
	return calls, micros
}
