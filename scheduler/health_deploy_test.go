package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// A deploy adds a job, and the leader of the old version stays for long. When b has led, and another replica of the new version
// leads, all is well: b no longer blames the first leader.
func TestProblems_OfAnEarlierLeaderEndWithATermOfThisProcess(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b, d := c.idle("a"), c.idle("b"), c.idle("d")
		a.add(a.job("job", "* * * * *", quick))
		for _, r := range []*replica{b, d} {
			r.add(r.job("job", "* * * * *", quick), r.job("other", "* * * * *", quick))
		}
		a.takesOver()
		b.campaign()
		time.Sleep(6 * time.Minute)
		want.Text(t, b.elector.Check(), "a leads, and does not have 1 of the 2 jobs")
		a.leaves()
		term := b.leads()
		d.campaign()
		time.Sleep(time.Minute)
		term.Resign(errors.New("deploy"))
		d.leads()
		for range 10 {
			time.Sleep(time.Minute)
			want.NoError(t, b.elector.Check())
		}
	})
}
