//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// A user who may only publish cannot make waiting processes ask the nodes without a pause.
//
// The test does not run in parallel, because its traffic would slow other tests down.
func TestFlood_OfMessagesWakesNobodyWithoutPause(t *testing.T) {
	const lasts = 2 * time.Second
	nodes := startNodes(t, 3)
	servers := admins(t, nodes.Addrs())
	holder := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout))
	var holding sync.WaitGroup
	defer holding.Wait()
	has, given := make(chan struct{}), make(chan struct{})
	give := sync.OnceFunc(func() { close(given) })
	defer give()
	holding.Go(func() { // ends with given
		err := holder.Do(t.Context(), "lock", func(context.Context, *redlock.Lease) error {
			close(has)
			<-given
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-has

	waiting := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout))
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	won := make(chan struct{}, 4)
	for range cap(won) {
		work.Go(func() { // ends with stop
			err := waiting.Do(ctx, "lock", func(ctx context.Context, _ *redlock.Lease) error {
				won <- struct{}{}
				<-ctx.Done()
				return nil
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("waiting ended with %v", err)
			}
		})
		work.Go(func() { // ends with stop
			if err := waiting.Watch(ctx, "lock", func(redlock.Holder) {}); !errors.Is(err, context.Canceled) {
				t.Errorf("Watch returned %v", err)
			}
		})
	}
	received := make([][]string, len(servers)) // channels, by server
	poll(t, "subscriptions", func() bool {
		var all []string
		for i, server := range servers {
			var err error
			received[i], err = server.PubSubChannels(t.Context(), "*").Result()
			must(t, err)
			all = append(all, received[i]...)
		}
		return slices.Contains(all, records.Default.Channel("lock")) && slices.ContainsFunc(all, func(c string) bool {
			return strings.Contains(c, ":p:") // of the process that waits
		})
	})
	asked := func() (n int) {
		for _, server := range servers {
			n += calls(t, server, "evalsha")
		}
		return n
	}
	wait(t, time.Second)
	before := asked()
	wait(t, lasts)
	quiet := asked() - before

	before = asked()
	sent, began := 0, time.Now()
	flood := func() {
		text := fmt.Sprintf("id%d:1:x", sent)
		for i, server := range servers {
			pipe := server.Pipeline()
			for _, channel := range received[i] {
				for _, message := range []string{
					"over", fmt.Sprintf("over 1 4 lock%s", text), fmt.Sprintf("failed 1 4 lock%s", text), fmt.Sprintf("over 2 4 lock%s", text),
					fmt.Sprintf("over 0 5 other%s", text), fmt.Sprint(sent),
				} {
					pipe.Publish(t.Context(), channel, message)
					sent++
				}
			}
			if pipe.Len() > 0 {
				_, err := pipe.Exec(t.Context())
				must(t, err)
			}
		}
	}
	for time.Since(began) < lasts {
		flood()
	}
	flooded := asked() - before
	t.Logf("%d scripts in %v without, %d with %d messages", quiet, lasts, flooded, sent)
	const waiters = 8
	const passedOn = 1000 * int(lasts/time.Second)
	if most := len(servers)*waiters*int(lasts/(10*time.Millisecond)) + passedOn; flooded > most {
		t.Errorf("%d messages had %d waiters ask %d times in %v, and %d times without; want %d at most", sent, waiters, flooded, lasts, quiet, most)
	}
	if len(won) > 0 {
		t.Error("somebody has the lock, which is held")
	}

	give()
	released := time.Now()
	for len(won) == 0 && time.Since(released) < ttl/2 {
		flood()
	}
	if len(won) != 1 {
		t.Errorf("%v after the release, %d have the lock", time.Since(released), len(won))
	}
	stop()
	work.Wait()
}
