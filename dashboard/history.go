package dashboard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/fresh"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	maxRecords = 50 // of a job; the nodes keep few more

	// forgetAfter is how long the records of a job are kept in memory after the last request for them.
	forgetAfter = time.Minute

	// maxHistories is how many jobs' records are in memory at once; those requested last stay. If the pages of more
	// jobs are open, their records are read more often than every five seconds.
	maxHistories = 100
)

// history is what only the page of one job shows. The newest comes first.
type history struct {
	records part[[]scheduler.Record]
	changes part[[]scheduler.Change]
}

// histories caches the histories of the jobs whose pages are open. All viewers of a job's page share one read.
type histories struct {
	read func(ctx context.Context, job string, last history) history

	mu   sync.Mutex // guards jobs
	jobs map[string]*requested
}

// requested is the history of a job, and when it was last requested.
type requested struct {
	fresh.Value[history]
	at time.Time // guarded by histories.mu
}

// get returns the history of a job, and until when it is fresh. An error says why ctx ended first.
func (h *histories) get(ctx context.Context, job string) (history, time.Time, error) {
	return h.of(job, time.Now()).Get(ctx)
}

func (h *histories) of(job string, now time.Time) *requested {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.jobs, func(_ string, r *requested) bool { return now.Sub(r.at) > forgetAfter })
	r := h.jobs[job]
	if r == nil {
		h.makeRoom()
		r = &requested{}
		r.For = every
		r.Read = func(ctx context.Context, last history) history { return h.read(ctx, job, last) }
		h.jobs[job] = r
	}
	r.at = now
	return r
}

// makeRoom drops the least recently requested history if the cache is full. The caller holds mu.
func (h *histories) makeRoom() {
	if len(h.jobs) < maxHistories {
		return
	}
	oldest := slices.MinFunc(slices.Collect(maps.Keys(h.jobs)), func(a, b string) int {
		return cmp.Or(h.jobs[a].at.Compare(h.jobs[b].at), cmp.Compare(a, b))
	})
	delete(h.jobs, oldest)
}

// expire makes the next request for the history of a job read it again.
func (h *histories) expire(job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.jobs[job]; r != nil {
		r.Expire()
	}
}
