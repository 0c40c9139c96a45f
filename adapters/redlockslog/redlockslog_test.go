package redlockslog_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/adapters/redlockslog"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestNodes_LogsWhatALockerNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, nil))
		nodes := redlocktest.New(t, 3)
		locker := nodes.Process().Locker()
		stop := redlockslog.Nodes(locker, log)
		lease, err := locker.Acquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{}))
		want.NoError(t, err)
		nodes.Stop(0)
		time.Sleep(10 * time.Second)
		nodes.Restart(0)
		time.Sleep(30 * time.Second)
		nodes.Jump(1, -time.Hour)
		time.Sleep(30 * time.Second)
		if !lease.Valid() {
			t.Error("the lease is lost")
		}
		want.NoError(t, lease.Release(t.Context()))
		stop()
		synctest.Wait()
		addrs := nodes.Addrs()
		want.Parts(t, "the log", b.String(),
			`level=WARN msg="a node fails" node=`+addrs[0],
			`level=INFO msg="a node works again" node=`+addrs[0],
			`level=INFO msg="a node has started, or lost its data, and grants nothing for a while" node=`+addrs[0],
			`level=INFO msg="a node had lost a lock, and has it again" node=`+addrs[0]+" lock=x",
			`level=WARN msg="the clock of a node was stepped, its votes may not count for some time" node=`+addrs[1]+" by=-1h")
		if n := strings.Count(b.String(), "a node fails"); n != 1 {
			t.Errorf("%d lines of one node that was down once:\n%s", n, &b)
		}
	})
}
