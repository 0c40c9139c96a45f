//go:build unix

package once_test

import (
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/replicas"
)

func (h *harness) ask(query string, args ...any) {
	h.t.Helper()
	must(h.t, h.db.QueryRowContext(h.t.Context(), query).Scan(args...))
}

// count returns how many ticks have an effect.
func (h *harness) count() (n int) {
	h.t.Helper()
	h.ask("SELECT COUNT(*) FROM (SELECT job, tick FROM effects GROUP BY job, tick) t", &n)
	return n
}

// repeated returns how many ticks have more than one.
func (h *harness) repeated() (n int) {
	h.t.Helper()
	h.ask("SELECT COUNT(*) FROM (SELECT job, tick FROM effects GROUP BY job, tick HAVING COUNT(*) > 1) t", &n)
	return n
}

// wantExactlyOne waits until all jobs have caught up with the present, and judges every tick from the first one of each job on.
func (h *harness) wantExactlyOne(atLeast int) {
	h.t.Helper()
	until := time.Now().Unix()
	replicas.Await(h.t, "all jobs have caught up", func() bool {
		var caughtUp int
		h.ask("SELECT COUNT(*) FROM (SELECT job, MAX(tick) newest FROM effects GROUP BY job) t WHERE newest >= "+
			strconv.FormatInt(until, 10), &caughtUp)
		return caughtUp == jobs
	})
	rows, err := h.db.QueryContext(h.t.Context(), "SELECT job, tick, COUNT(*) FROM effects GROUP BY job, tick ORDER BY job, tick")
	must(h.t, err)
	defer func() { must(h.t, rows.Close()) }()
	next, judged := map[string]int64{}, 0
	for rows.Next() {
		var job string
		var tick int64
		var n int
		must(h.t, rows.Scan(&job, &tick, &n))
		if tick > until {
			continue
		}
		if want, known := next[job]; known && tick != want {
			h.t.Errorf("%s: %d ticks before %d have no effect", job, tick-want, tick)
		}
		if n != 1 {
			h.t.Errorf("%s: tick %d has %d effects", job, tick, n)
		}
		next[job] = tick + 1
		judged++
	}
	must(h.t, rows.Err())
	for job, tick := range next {
		if tick != until+1 {
			h.t.Errorf("%s: its ticks end before %d, not at %d", job, tick, until)
		}
	}
	if judged < atLeast || len(next) != jobs {
		h.t.Errorf("only %d ticks of %d jobs were judged", judged, len(next))
	}
	h.t.Logf("%d ticks of %d jobs have exactly one effect each, none is missing", judged, len(next))
}
