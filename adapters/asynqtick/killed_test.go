//go:build unix

package asynqtick_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/adapters/asynqtick"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/replicas"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	settingsVariable = "REDLOCKFX_TEST_ASYNQTICK" // settings as JSON: the test binary is a replica
	jobs             = 10
	kills            = 4
	minTicks         = 120
	ttl              = 3 * time.Second
)

type settings struct {
	Nodes  []string
	Queue  string
	Plain  bool   // enqueue without package asynqtick
	KillAt int    // the process kills itself after it has enqueued this many tasks
	Calm   string // if this file exists, it does not
}

func TestJob_EnqueuesOnceThoughLeadersAreKilledAndAnswersAreLost(t *testing.T) {
	h := newHarness(t, false)
	ticks, missing, repeated := h.play()
	if missing > 0 || len(repeated) > 0 || ticks < minTicks {
		t.Errorf("of %d ticks %d have no task, and %d have more than one: %v", ticks, missing, len(repeated), repeated)
	}
	t.Logf("%d ticks have one task each, %d leaders were killed", ticks, h.service.Ended())
}

// Shows that the test above would find repeated tasks.
func TestJob_ComparedWithTasksWithoutID(t *testing.T) {
	h := newHarness(t, true)
	ticks, _, repeated := h.play()
	if len(repeated) == 0 {
		t.Errorf("none of %d ticks has two tasks", ticks)
	}
	t.Logf("%d of %d ticks have more than one task", len(repeated), ticks)
}

// harness is a service of three replicas, its nodes, its queue, and a server of asynq.
type harness struct {
	t       *testing.T
	service *replicas.Service
	mu      sync.Mutex
	counts  map[string]int // number of processed tasks, by payload
	calm    string         // the file that ends the killing
}

func newHarness(t *testing.T, plain bool) *harness {
	t.Helper()
	h := &harness{t: t, counts: map[string]int{}, calm: filepath.Join(t.TempDir(), "calm")}
	nodes, err := redisproc.Start(t.Context(), 3)
	must(t, err)
	t.Cleanup(func() { must(t, nodes.Close()) })
	q := newQueue(t)
	q.serve(t, func(_ context.Context, task *asynq.Task) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.counts[string(task.Payload())]++
		return nil
	})
	h.service = replicas.Start(t, 3, func(start int) string {
		text, err := json.Marshal(settings{
			Nodes: nodes.Addrs(), Queue: q.node.Addr(), Plain: plain, KillAt: 8 + 3*start, Calm: h.calm,
		})
		if err != nil {
			t.Error(err)
		}
		return settingsVariable + "=" + string(text)
	})
	return h
}

// play waits until all leaders that kill themselves are gone and the jobs have caught up. It returns the number of
// ticks, and the missing and repeated ones.
func (h *harness) play() (ticks, missing int, repeated []string) {
	h.t.Helper()
	replicas.Await(h.t, "the leaders are killed, and there are enough ticks", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.service.Ended() >= kills && len(h.counts) >= minTicks
	})
	must(h.t, os.WriteFile(h.calm, nil, 0o600))
	until := time.Now().Unix()
	replicas.Await(h.t, "all jobs have caught up", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		late := 0
		for n := range jobs {
			for tick := until; h.counts[fmt.Sprintf("job %d@%d", n, tick*1000)] == 0; tick++ {
				if tick > until+60 {
					late++
					break
				}
			}
		}
		return late == 0
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	ticks, missing, repeated, err := replicas.Judge(h.counts, until)
	must(h.t, err)
	return ticks, missing, repeated
}

// beReplica runs a replica. It returns only on an error.
func beReplica(variable string) error {
	var s settings
	if err := json.Unmarshal([]byte(variable), &s); err != nil {
		return err
	}
	loses := &lossy{}
	client := asynq.NewClientFromRedisClient(redis.NewClient(&redis.Options{
		Addr: s.Queue, Dialer: loses.dial, MaxRetries: -1, DialerRetries: 1,
	}))
	payload := func(_ context.Context, run scheduler.Run) ([]byte, error) { return []byte(run.Key()), nil }
	send, err := asynqtick.Job(client, "count", time.Hour, payload)
	if err != nil {
		return err
	}
	if s.Plain {
		send = func(ctx context.Context, run scheduler.Run) error {
			_, err := client.EnqueueContext(ctx, asynq.NewTask("count", []byte(run.Key())))
			return err
		}
	}
	var sent atomic.Int64
	return replicas.Lead(s.Nodes, ttl, jobs, func(ctx context.Context, run scheduler.Run) error {
		if run.Tick.Unix()%5 == 0 && run.Attempt == 1 {
			loses.lose.Store(1)
		}
		if err := send(ctx, run); err != nil {
			return err
		}
		if _, err := os.Stat(s.Calm); err != nil && sent.Add(1) == int64(s.KillAt) { // before the end of the run is recorded
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
}
