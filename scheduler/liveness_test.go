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
