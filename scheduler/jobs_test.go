package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A page has what was asked for as long as there is more, however many calls to the nodes that takes.
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
