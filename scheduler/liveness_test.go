package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The liveness probe and the log name a job that outlives its lease. The log also says when it has returned.
func TestCheck_NamesTheJobThatIsLate(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zapcore.InfoLevel)
		c.opts = []election.Option{election.WithLogger(zap.New(core))}
		r := c.leader("a")
		r.add(r.job("report", "30 * * * * *", untilDone(30*time.Second)))
		c.SleepTo(32 * time.Second)
		c.Hang(0, 1)
		time.Sleep(2 * ttl)
		want.Err(t, r.elector.Check(), election.ErrUndrained)
		want.Text(t, r.elector.Check(), `job "report"`)
		c.Heal()
		time.Sleep(time.Minute)
		if err := r.elector.Check(); err != nil {
			t.Error(err)
		}
		late := logs.FilterMessage("work continues after the end of leadership, the next leader waits for the lease to expire").All()
		back := logs.FilterMessage("late work has returned").All()
		if len(late) != 1 || len(back) != 1 || back[0].ContextMap()["work"] != `job "report"` ||
			!strings.Contains(late[0].ContextMap()["error"].(string), `job "report"`) {
			t.Errorf("logged %v, %v", late, back)
		}
	})
}

// A hook that holds up the ticks of all jobs is as bad as one that holds up the election.
func TestCheck_NamesAHookThatHoldsUpTheTicks(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		hung := make(chan struct{})
		r := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Finished: func(scheduler.Record) { <-hung }}))
		r.add(r.job("job", "* * * * * *", quick))
		time.Sleep(2 * ttl)
		want.Text(t, r.elector.Check(), "holds up all ticks, has not returned for")
		close(hung)
		time.Sleep(time.Second)
		if err := r.elector.Check(); err != nil {
			t.Error(err)
		}
	})
}
