package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A page has as many jobs as requested, as long as there are more, however many calls to the nodes that takes.
func TestJobsAfter_GivesAllJobsPageByPage(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		const count = 1203
		for i := range count {
			r.add(r.job(fmt.Sprintf("job %04d", i), "@daily", quick))
		}
		time.Sleep(10 * time.Second)
		all, err := r.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names := namesOf(all) // the fixture's nodes know a few more
		first := slices.Index(names, "job 0000")
		if first < 0 || !slices.IsSorted(names) || names[first+count-1] != "job 1202" {
			t.Fatalf("%d of %d jobs, the first at %d", len(names), count, first)
		}
		for _, n := range []int{1, 7, 500, 501, count, 5000} {
			for _, at := range []int{0, 1, 699, len(names) - 1} {
				page, err := r.JobsAfter(t.Context(), names[at], n)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := namesOf(page), names[at+1:min(at+1+n, len(names))]; !slices.Equal(got, want) {
					t.Errorf("%d after %q: %d jobs, want %d", n, names[at], len(got), len(want))
				}
			}
		}
	})
}

func namesOf(all []scheduler.Status) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Job)
	}
	return names
}

// If there are more jobs than fit in a call, the jobs that are due first are ready first.
func TestPrepare_TheSoonestFirst(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		const often = 20
		calls, early := 0, 0 // calls with names of jobs, and the jobs due first in the first two calls, which run at the same time
		c.SetPreHook(0, func(_ *server.Peer, command string, args ...string) bool {
			if command != "EVALSHA" || !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "job ") }) {
				return false // in other calls the names are parts of keys
			}
			mu.Lock()
			defer mu.Unlock()
			calls++
			for _, arg := range args {
				if calls <= 2 && strings.HasPrefix(arg, "often ") {
					early++
				}
			}
			return false
		})
		r := c.idle("a")
		for i := range 3*500 + 100 {
			r.add(r.job(fmt.Sprintf("job %04d", i), "@daily", quick))
		}
		for i := range often {
			r.add(r.job(fmt.Sprint("often ", i), "* * * * * *", quick))
		}
		r.links.Delay(5 * time.Millisecond) // so that both calls are sent before one is answered
		r.campaign()
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if early != often || calls < 4 {
			t.Errorf("%d of the %d jobs that are due first were in the first 2 of %d calls", early, often, calls)
		}
	})
}
