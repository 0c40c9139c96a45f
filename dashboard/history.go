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
	maxRecords = 50 // the nodes keep no more of a job

	// forgetAfter is how long the records of a job are kept in memory after the last request for them.
	forgetAfter = time.Minute

	// maxHistories is how many jobs' records are in memory at once. Those requested last stay. Where more jobs' pages are
	// open, each of them is read more often than every five seconds.
	maxHistories = 100
)

// history is what only the page of one job shows, the newest first.
type history struct {
	records part[[]scheduler.Record]
	changes part[[]scheduler.Change]
}

// histories has those of the jobs whose pages are open. All who look at the page of a job share one read.
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

// get returns the history of a job, and until when they are fresh. An error says why ctx has ended first.
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

// makeRoom forgets the history that was requested the longest ago if there are as many as there may be. The caller holds mu.
func (h *histories) makeRoom() {
	if len(h.jobs) < maxHistories {
		return
	}
	oldest := slices.MinFunc(slices.Collect(maps.Keys(h.jobs)), func(a, b string) int {
		return cmp.Or(h.jobs[a].at.Compare(h.jobs[b].at), cmp.Compare(a, b))
	})
	delete(h.jobs, oldest)
}

// expire has the next request for the history of a job read them again.
func (h *histories) expire(job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.jobs[job]; r != nil {
		r.Expire()
	}
}
