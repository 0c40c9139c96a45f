package quorum_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

func TestAskHedged_AsksTheOthersIfTheFirstNodeIsNotEnough(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   func(c *bubble.Cluster)
		more    bool
		answers int // that are enough
		took    time.Duration
		asked   int // nodes in the end
	}{
		{"it is enough", func(*bubble.Cluster) {}, false, 1, 0, 1},
		{"it says so", func(*bubble.Cluster) {}, true, 3, 0, 3},
		{"it hangs", func(c *bubble.Cluster) { c.Hang(0) }, false, 2, 2 * time.Millisecond, 3}, // its hedge delay
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, q *quorum.Quorum, cluster *bubble.Cluster) {
				c.fault(cluster)
				began := time.Now()
				enough := func(a []answer) bool { return over(a) >= c.answers }
				r, err := quorum.AskHedged(t.Context(), q, counting(), enough, []int{0}, func(answer) bool { return c.more })
				if took := time.Since(began); err != nil || took != c.took {
					t.Errorf("after %v: %v", took, err)
				}
				time.Sleep(timeout)
				synctest.Wait()
				asked := 0
				for _, a := range r.Answers() {
					if !errors.Is(a.Err, quorum.ErrUnsent) {
						asked++
					}
				}
				if asked != c.asked {
					t.Errorf("%d nodes were asked, want %d: %+v", asked, c.asked, r.Answers())
				}
			})
		})
	}
}
