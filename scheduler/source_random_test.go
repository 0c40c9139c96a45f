package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// change changes the rows, or how they load. The row "stays" is always there.
func (h *rough) change(tab *table) {
	specs := []string{"*/10 * * * * *", "*/15 * * * * *", "0 * * * * *", "bad", "", ""}
	rows := []row{every("stays", "*/10 * * * * *", quick)}
	said := ""
	for n := range 4 {
		if spec := specs[h.r.IntN(len(specs))]; spec != "" {
			rows = append(rows, every(fmt.Sprint("job", n), spec, quick, func(j *scheduler.Job) { j.CatchUp = scheduler.CatchUpAll(time.Hour) }))
			said += fmt.Sprintf(" %d: %s", n, spec)
		}
	}
	tab.set(rows...)
	load := h.r.IntN(5)
	h.say("rows%s, load %d", said, load)
	switch load {
	case 0:
		tab.onLoad(func(context.Context) error { return errors.New("down") })
	case 1:
		tab.onLoad(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	case 2:
		tab.onLoad(func(context.Context) error { time.Sleep(25 * time.Second); return nil })
	default:
		tab.onLoad(nil)
	}
	if p := h.all[h.r.IntN(len(h.all))]; h.r.IntN(2) == 0 {
		h.say("%s refreshes: %v", p.id, p.Refresh(h.T.Context(), "rows"))
	}
}

// Rows come, go, change and come back, loads fail, hang and are slow, clocks are set back, leaders change, nodes restart and
// lose their data. No tick starts twice. Afterwards the ticks of what is there go on, and nothing else ticks.
func TestPlans_NoTickOfASourceStartsTwice(t *testing.T) {
	for n := range *setBacks {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			nodes := []int{1, 3, 3}[n%3]
			withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
				h, tab := rough{cluster: c, r: rand.New(rand.NewPCG(seed, 0)), offsets: make([]time.Duration, nodes)}, &table{}
				check := c.replayed(nodes)
				for _, id := range []string{"a", "b", "d"} {
					h.all = append(h.all, c.replica(id).source(tab))
				}
				for range 10 {
					for range h.r.IntN(4) {
						h.change(tab)
						time.Sleep(time.Duration(h.r.IntN(20_000)) * time.Millisecond)
					}
					h.step(n%3 == 2)
				}
				c.Heal()
				h.agree()
				tab.onLoad(nil)
				tab.set(every("stays", "*/10 * * * * *", quick), every("job0", "*/10 * * * * *", quick))
				time.Sleep(max(8*time.Minute, h.most-h.offsets[0]+time.Minute)) // ticks may wait until the clocks have caught up
				before := make(map[string]int)
				jobs := []string{"rows/stays", "rows/job0", "rows/job1", "rows/job2", "rows/job3"}
				for _, job := range jobs {
					before[job] = c.runsOf(job)
				}
				time.Sleep(5 * time.Minute)
				for i, job := range jobs {
					c.wantNoneTwice(job)
					if more := c.runsOf(job) - before[job]; i < 2 && more < 29 || i >= 2 && more > 0 {
						t.Errorf("%s ran %d times in the last five minutes", job, more)
					}
				}
				check(t)
				for _, p := range h.all {
					if err := p.elector.Check(); err != nil {
						t.Errorf("%s: %v", p.id, err)
					}
				}
				if t.Failed() {
					t.Log(slices.Concat([]string{fmt.Sprint(nodes, " nodes")}, h.log))
				}
			})
		})
	}
}
