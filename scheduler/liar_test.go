package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// A liar is a node that answers some scripts itself.
type liar struct {
	*cluster
	node     int
	identity string
}

func (c *cluster) liar(node int) *liar {
	return &liar{c, node, c.Node(node).HGet("{redlock}", "g")[2:14]}
}

// answers makes the node answer a script itself. It recognizes the script by its number of keys and by some of its keys. do
// returns a line of items, which follow the time, and texts. Without an answer of do, the node's own answer is used.
func (l *liar) answers(keys []string, do func(argv []string) (items string, texts []string)) {
	l.SetPreHook(l.node, func(p *server.Peer, cmd string, args ...string) bool {
		n := 0
		if strings.ToUpper(cmd) != "EVALSHA" {
			return false
		}
		if _, err := fmt.Sscan(args[1], &n); err != nil || len(args) < 2+n {
			return false
		}
		for _, key := range keys {
			if !slices.ContainsFunc(args[2:2+n], func(k string) bool { return strings.Contains(k, ":"+key+":") }) {
				return false
			}
		}
		items, texts := do(args[2+n:])
		if items == "" {
			return false
		}
		at := fmt.Sprint(time.Now().Unix(), " ", time.Now().Nanosecond()/1000)
		p.WriteLen(1 + len(texts))
		p.WriteBulk(at + " " + l.identity + " " + items)
		for _, text := range texts {
			p.WriteBulk(text)
		}
		return true
	})
}

// ballots calls do twice a second until an instant of the test, and returns how many ballots the leader has taken.
func (c *cluster) ballots(until time.Duration, do func()) (n int) {
	last := ""
	for time.Since(c.Start) < until {
		do()
		if b := c.Node(0).HGet(hash, "")[32:58]; b != last {
			n, last = n+1, b
		}
		time.Sleep(500 * time.Millisecond)
	}
	return n
}

func (c *cluster) runsOf(job string) (n int) {
	for _, r := range c.records() {
		if r.Job == job {
			n++
		}
	}
	return n
}

// A node returns a mark of deleted jobs from the future, which the others do not have. That stops no new job.
func TestLiar_AMarkOfTheFuture(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.links.Delay(time.Millisecond, 1) // so that the leader uses the answer of node 2
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(10500 * time.Millisecond)
		h := c.Node(2).HGet(hash, "")
		c.Node(2).HSet(hash, "", h[:59]+"9999999999999"+h[72:])
		a.add(a.job("new", "* * * * * *", quick))
		c.SleepTo(60500 * time.Millisecond)
		if n := c.runsOf("new"); n < 45 {
			t.Errorf("a job that was added has run %d times in 50 s", n)
		}
	})
}

// If the start of a node's state is in the future, the node's answer is an error.
func TestLiar_AStartOfTheFuture(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.links.Delay(time.Millisecond, 0)
		c.SleepTo(10500 * time.Millisecond)
		c.liar(2).answers([]string{"jobs"}, func(argv []string) (string, []string) {
			if len(argv) < 6 || !strings.Contains(argv[4], ":a") { // a prepare has ballot, leader and jobs
				return "", nil
			}
			return "p-1000000000000000" + strings.Repeat(" n0", len(argv)-5), []string{"", "0000000000000"}
		})
		a.add(a.job("new", "* * * * * *", quick))
		c.SleepTo(30500 * time.Millisecond)
		if n := c.runsOf("new"); n < 15 {
			t.Errorf("the job has run %d times in 20 s", n)
		}
	})
}

// Each ballot makes the leader write all jobs again. So a single node can cause only a few of them, whatever it answers.
func TestLiar_FewBallots(t *testing.T) {
	for how, lie := range map[string]func(c *cluster) (do func()){
		"it has promised a larger ballot to an earlier leader, and publishes": func(c *cluster) func() {
			return func() {
				if h := c.Node(2).HGet(hash, ""); len(h) > 92 {
					ahead := fmt.Sprintf("000000%016dffff", time.Now().Add(time.Second).UnixMicro())
					c.Node(2).HSet(hash, "", h[:32]+ahead+h[58:92]+"1:earlier")
				}
				c.Node(2).Publish(hash, "p x")
			}
		},
		"it returns that in every other poll": func(c *cluster) func() {
			var polls atomic.Int64
			c.liar(2).answers([]string{"names", "requests"}, func([]string) (string, []string) {
				if polls.Add(1)%2 == 0 {
					return "", nil
				}
				return "s1", []string{""}
			})
			return func() {}
		},
		"it always has a later number": func(c *cluster) func() {
			return func() {
				entry := c.Node(2).HGet(hash, "job")
				c.Node(2).HSet(hash, "job", entry[:54]+"99999999"+entry[62:])
			}
		},
		"it keeps losing its state": func(c *cluster) func() {
			since := time.Now()
			return func() {
				if c.Node(2).HGet("{redlock}", "j:x") == "" {
					since = time.Now()
				} else if time.Since(since) > 12*time.Second { // until a poll after the restart has its answer
					c.Node(2).HDel("{redlock}", "j:x")
				}
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				a.add(a.job("idle", "@yearly", quick), a.job("job", "*/10 * * * * *", quick))
				c.SleepTo(30 * time.Second)
				if n := c.ballots(5*time.Minute, lie(c)); n < 3 || n > 16 {
					t.Errorf("%d ballots in five minutes", n)
				}
				if n := c.runsOf("job"); n < 28 {
					t.Errorf("%d runs in five minutes", n)
				}
			})
		})
	}
}

// Lists of jobs end, cost little, and show all jobs, although a node returns names without end.
func TestLiar_NamesWithoutEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(30500 * time.Millisecond)
		entry := c.Node(2).HGet(hash, "job")
		var pages atomic.Int64
		c.liar(2).answers([]string{"requests", "names"}, func(argv []string) (string, []string) {
			var n, most int
			if len(argv) != 5 {
				return "", nil
			}
			pages.Add(1)
			_, _ = fmt.Sscanf(argv[3], "!%d", &n) // the first page comes after ""
			if _, err := fmt.Sscan(argv[4], &most); err != nil {
				t.Error(err)
			}
			texts := []string{""}
			for range most {
				n++
				texts = append(texts, fmt.Sprintf("!%015d", n), entry)
			}
			return "h1000000000" + strings.Repeat(" v0", most), texts
		})
		o := c.idle("observer")
		o.links.Delay(time.Millisecond, 0) // so that the liar's answer is used
		for node := range 2 {
			h := c.Node(node).HGet(hash, "") // as after a change of leader: not all jobs are written
			c.Node(node).HSet(hash, "", h[:90]+"0"+h[91:])
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		jobs, err := o.Jobs(ctx)
		if names := namesOf(jobs); err != nil || len(names) > 600 || !slices.Contains(names, "job") {
			t.Errorf("%q, %v", names, err)
		}
		if n := pages.Load(); n > 5 {
			t.Errorf("the node was asked for %d pages", n)
		}
	})
}

// Pauses and triggers take effect soon although a node has new requests in each poll.
func TestLiar_RequestsWithoutEnd(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(30500 * time.Millisecond)
		a.links.Delay(30*time.Millisecond, 2)
		const requests = 10_000
		var polls, number atomic.Int64
		c.liar(2).answers([]string{"names", "requests"}, func([]string) (string, []string) {
			polls.Add(1)
			texts := []string{""}
			for range requests {
				request := fmt.Sprintf("%016dffffff,1", time.Now().UnixMicro())
				texts = append(texts, fmt.Sprintf("r%d000/:job", number.Add(1)), request)
			}
			return fmt.Sprint("h1000000000 c", 2*requests), texts
		})
		time.Sleep(4 * time.Second)
		before := time.Now()
		c.must(a.Trigger(t.Context(), "job"))
		bubble.Await(t, "the run begins", 2*time.Second, func() bool { return len(c.records()) > 0 })
		time.Sleep(14*time.Second - time.Since(before))
		if n := polls.Load(); n < 4 || n > 100 {
			t.Errorf("%d polls in about 15 s", n)
		}
	})
}

// The library writes only one state at each position in the order of writes. A different text there is not shown, and does not
// make a job count as unused.
func TestLiar_AnotherStateAtTheSamePlace(t *testing.T) {
	for slow := range 2 { // the other one answers first, and so does the liar
		t.Run(fmt.Sprint("node ", slow, " is slow"), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				a.add(a.job("job", "@yearly", quick))
				c.SleepTo(30500 * time.Millisecond)
				entry := c.Node(2).HGet(hash, "job")
				c.Node(2).HSet(hash, "job", entry+" missed=1000000 failures=77 removed=1")
				a.links.Delay(time.Millisecond, slow)
				if s := a.status("job"); s.Missed != 0 || s.Next.IsZero() {
					t.Errorf("%+v", s)
				}
				if err := a.Forget(t.Context(), "job"); err == nil {
					t.Error("a job that the leader has was forgotten")
				}
			})
		})
	}
}

// One node does not decide whether somebody leads: neither that the leader is gone, nor that there is a leader.
func TestLiar_WhetherSomebodyLeads(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(30 * time.Second)
		lie := func(alive time.Time) {
			h := c.Node(2).HGet(hash, "")
			ballot := fmt.Sprintf("000000%016dffff", time.Now().Add(time.Second).UnixMicro())
			c.Node(2).HSet(hash, "", h[:32]+ballot+h[58:73]+fmt.Sprintf("%016d", alive.UnixMicro())+h[89:])
		}
		b.links.Delay(time.Millisecond, 0) // so that the liar's answer is used
		lie(time.Now().Add(-time.Hour))
		if err := b.Forget(t.Context(), "job"); err == nil {
			t.Error("a job that the leader has was forgotten")
		}
		a.leaves()
		time.Sleep(time.Hour)
		lie(time.Now())
		if err := b.Forget(t.Context(), "job"); err != nil {
			t.Errorf("nobody leads: %v", err)
		}
	})
}
