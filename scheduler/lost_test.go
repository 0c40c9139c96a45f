package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// states returns the states of a job's records, by tick and attempt.
func (r *replica) states(job string) map[string]scheduler.State {
	r.c.T.Helper()
	history, err := r.History(r.c.T.Context(), job, 50)
	want.NoError(r.c.T, err)
	states := make(map[string]scheduler.State)
	for _, record := range history {
		for _, tick := range []time.Time{record.Tick, record.From} { // for a range of ticks, the first one too
			if at := r.c.at(tick); states[at] == "" { // the newest row comes first
				states[at] = record.State
			}
		}
	}
	return states
}

// cutOff has two replicas with a job of every minute. It cuts a off for good during its first run, and b leads when a's lease has
// run out.
func (c *cluster) cutOff(change func(*scheduler.Job)) (a, b *replica) {
	a, b = c.leader("a"), c.idle("b")
	addBoth(a, b, "0 * * * * *", untilDone(0), change)
	b.campaign()
	c.SleepTo(62 * time.Second)
	a.links.Cut()
	b.leads()
	c.SleepTo(125 * time.Second)
	return a, b
}

func atLeastOnce(job *scheduler.Job) { job.AtLeastOnce = true }

func catchUpAll(job *scheduler.Job) { job.CatchUp = scheduler.CatchUpAll(time.Hour) }

func queued(job *scheduler.Job) { job.Overlap = scheduler.Queue }

func TestLost_ARunWithoutAKnownEndIsRecordedAndNotRepeated(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		_, b := c.cutOff(func(*scheduler.Job) {})
		wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s", "job 2m0s@2m0s"})
		cut := c.records()[0]
		want.Err(t, cut.cause, election.ErrLost)
		if gap := b.leads().Since().Sub(cut.end); gap < margin {
			t.Errorf("b led %v after a's run ended, want at least %v", gap, margin)
		}
		if got := b.states("job"); got["1m0s"] != scheduler.StateLost || got["2m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
		if lines := b.logs.FilterMessageSnippet("run lost").All(); len(lines) != 1 || lines[0].ContextMap()["replica"] != "a" {
			t.Errorf("logged %v", lines)
		}
		s := b.status("job")
		if s.Failures != 0 || s.LastOK.Replica != "b" {
			t.Errorf("status %+v", s)
		}
	})
}

func TestLost_AtLeastOnceRunsItAgain(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		_, b := c.cutOff(atLeastOnce)
		runs := c.records()
		if len(runs) != 3 {
			t.Fatalf("ran %v", c.ran())
		}
		first, again := runs[0], runs[1]
		if again.Key() != first.Key() || again.Attempt != 2 || again.Token <= first.Token || again.by != "b" ||
			!again.CaughtUp {
			t.Errorf("ran %+v, and then %+v", first.Run, again.Run)
		}
		if got := b.states("job"); got["1m0s"] != scheduler.StateOK || got["2m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
	})
}

// The leader stops, and its run goes on for longer than the next leader waits before it skips a tick.
func TestLost_ATickThatWasCutOffIsRunAgain(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "0 1 * * * *", untilDone(40*time.Second), atLeastOnce)
		b.campaign()
		c.SleepTo(62 * time.Second)
		a.stop()
		b.leads()
		c.SleepTo(4 * time.Minute)
		runs := c.records()
		if len(runs) != 2 || runs[1].by != "b" || runs[1].Attempt != 2 || runs[1].start.Before(runs[0].end) {
			t.Errorf("ran %+v", runs)
		}
		if got := b.states("job")["1m0s"]; got != scheduler.StateOK {
			t.Errorf("the tick is recorded as %q", got)
		}
	})
}

// depose takes the lease away from the leader, as a person with redis-cli may. Its runs may go on, and write.
func (c *cluster) depose() {
	records.Default.Drop(c.T, inside.ElectionLock("x"), c.Raw()[:2]...)
}

// The nodes have promised another leader with a larger token, so this leader cannot store anything. It resigns, and the next
// lease's token is above both.
func TestFenced_LeaderGivesUpAndComesBackAboveIt(t *testing.T) {
	const more = 1_000_000
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		term, reported := fencedBy(t, c, more, func() {})
		if term.second <= term.by {
			t.Errorf("token %d after one of %d was promised", term.second, term.by)
		}
		wantEqual(t, "reported", reported, []string{fmt.Sprintf("fenced by %d more", more)})
	})
}

// One node claims that it has promised a term that nobody can have. That ends no term, and the token is not raised to it.
// Otherwise a number too large for Lua would end this process.
func TestFenced_ATermThatNobodyCanHaveIsNotBelieved(t *testing.T) {
	const more = 1_000_000
	for _, forged := range []string{"9007199254740991", "18446744073709551615"} {
		t.Run(forged, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				term, reported := fencedBy(t, c, more, func() {
					const hash = "{redlock}:jobs:x"
					header := c.Node(0).HGet(hash, "")
					c.Node(0).HSet(hash, "", header[:strings.LastIndexByte(header[:strings.LastIndexByte(header, ':')], ' ')+1]+forged+":nobody")
				})
				if most := uint64(time.Now().UnixMicro()); term.second <= term.first+more || term.second > most {
					t.Errorf("%s: token %d after %d, want at most %d", forged, term.second, term.first, most)
				}
				wantEqual(t, "reported", reported, []string{fmt.Sprintf("fenced by %d more", more)})
			})
		})
	}
}

// rival is another leader of the same election.
type rival struct {
	*jobstore.Store
	c      *cluster
	leader jobstore.Leader
}

// rival returns a rival that reaches the nodes as r does.
func (r *replica) rival(token uint64) *rival {
	parts := inside.Of(r.elector.Locker())
	config := jobstore.Config{Quorum: parts.Quorum, Prefix: "redlock", Election: "x", List: parts.List}
	return &rival{jobstore.New(config), r.c, jobstore.Leader{Token: token, Replica: "other"}}
}

// prepares makes the nodes promise a new ballot to the rival.
func (v *rival) prepares(jobs ...string) (jobstore.Ballot, []jobstore.Promise) {
	v.c.T.Helper()
	ballot := jobstore.NewBallot(0, time.Now())
	promises, err := v.Prepare(v.c.T.Context(), ballot, v.leader, jobs)
	v.c.must(err)
	return ballot, promises
}

// opens makes the rival take over the job "job" and open a tick.
func (v *rival) opens(tick time.Time, open ...jobstore.Open) {
	v.c.T.Helper()
	ballot, promises := v.prepares("job")
	basis, err := v.Decide(promises, 0)
	v.c.must(err)
	basis.State.Mark, basis.State.Open = tick, open
	writes := []*jobstore.Write{{Job: "job", State: &basis.State, Opens: true}}
	errs, _ := v.Write(v.c.T.Context(), ballot, 1, writes, func(int, []int, int) {})
	v.c.must(errs[0])
}

type fencedTerm struct{ first, by, second uint64 }

// fencedBy makes the nodes promise the jobs to another leader, whose token is larger by more, and then calls spoil. It returns
// the tokens of the leader before and after, and the hook's calls.
func fencedBy(t *testing.T, c *cluster, more uint64, spoil func()) (term fencedTerm, reported []string) {
	t.Helper()
	hooks := &recorder{}
	a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Fenced: hooks.hooks().Fenced}))
	a.add(a.job("job", "*/10 * * * * *", quick), a.job("other", "*/10 * * * * *", quick)) // both in one call
	c.SleepTo(12 * time.Second)
	first := a.leads()
	other := a.rival(first.Token() + more)
	other.prepares()
	synctest.Wait()
	spoil()
	c.Delay(time.Millisecond, 1, 2) // the answer of node 0 is always among those that decide
	c.SleepTo(41 * time.Second)
	runs := c.records()
	for i, run := range runs {
		if got := c.at(run.Tick); got != []string{"10s", "20s", "30s", "40s"}[i/2] {
			t.Errorf("run %d is of %s", i, got)
		}
	}
	if len(runs) != 8 {
		t.Errorf("ran %v", c.ran())
	}
	if lines := a.logs.FilterMessageSnippet("failed to store").All(); len(lines) > 0 {
		t.Errorf("a leader that is not served any more says that it retries: %v", lines)
	}
	return fencedTerm{first.Token(), other.leader.Token, a.leads().Token()}, hooks.reported()
}

// An earlier leader has made the nodes promise a larger ballot and has opened a tick under it, although this leader leads.
func TestFenced_ByAnEarlierLeaderItTakesALargerBallot(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(12500 * time.Millisecond)
		term := a.leads()
		other := a.rival(term.Token() - 1)
		other.opens(c.Start.Add(13 * time.Second))
		c.SleepTo(20500 * time.Millisecond)
		if now, ok := a.elector.Term(); !ok || now != term {
			t.Error("the term has ended")
		}
		ran := make(map[string]bool)
		for _, run := range c.records() {
			ran[c.at(run.Tick)] = true
		}
		if !ran["12s"] || ran["13s"] || !ran["20s"] {
			t.Errorf("ran %v", c.ran())
		}

		other.prepares()
		a.add(a.job("other", "* * * * * *", quick)) // the nodes refuse to prepare it under the present ballot
		c.SleepTo(25500 * time.Millisecond)
		if n := c.runsOf("other"); n < 3 {
			t.Errorf("a job that was added has run %d times in 5 s", n)
		}
	})
}

// Another scheduler writes in the same term, as only a mistake can bring about. Neither fences the other again and again.
func TestFenced_ByAnotherLoopOfItsTermItEndsTheTerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(12500 * time.Millisecond)
		term := a.leads()
		a.rival(term.Token()).opens(c.Start.Add(13 * time.Second))
		c.SleepTo(14 * time.Second)
		want.Text(t, context.Cause(term.Context()), fmt.Sprintf("another scheduler, of \"other\", in this term %d", term.Token()))
	})
}

// The lease is not renewed any more. A triggered run is stored in time, but the answer comes when the term is over.
func TestLost_ARunThatIsStoredWhenTheTermIsOverDoesNotStart(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(12 * time.Second)
		term := a.leads()
		b.status("job") // connects it
		const late = 100 * time.Millisecond
		over := term.Deadline()
		c.SetPreHook(0, func(p *server.Peer, command string, args ...string) bool {
			if isAbout("job", command, args) && time.Now().Before(over) {
				a.links.Delay(late) // of the answer that says that the run is stored
				time.AfterFunc(2*late, func() { a.links.Heal() })
			}
			renewal := command == "EVALSHA" && slices.ContainsFunc(args, func(arg string) bool {
				return strings.Contains(arg, inside.ElectionLock("x"))
			})
			if renewal {
				p.WriteError(noMemory)
			}
			return renewal
		})
		time.Sleep(time.Until(over.Add(-late / 2)))
		c.must(b.Trigger(t.Context(), "job"))
		time.Sleep(time.Minute)
		if ran := c.ran(); len(ran) != 0 {
			t.Errorf("ran %v", ran)
		}
		c.SetPreHook(0, nil)
		history, err := b.History(t.Context(), "job", 10)
		if err != nil || len(history) != 1 || history[0].State != scheduler.StateLost {
			t.Errorf("recorded %+v, %v", history, err)
		}
	})
}

// An earlier leader takes over the jobs and opens a tick. This leader asks for a larger ballot, and all nodes promise it, but
// their clocks disagree, so it does not count. At the next ballot, the nodes return only ballots of this leader. It must read the
// jobs nevertheless.
func TestBallot_OneThatDidNotCountHidesNoOtherLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "*/10 * * * * *", quick))
		c.SleepTo(18500 * time.Millisecond)
		tick := c.Start.Add(20 * time.Second)
		other := b.rival(a.leads().Token() - 1)
		other.opens(tick, jobstore.Open{
			Slot: jobstore.Slot{At: tick}, ID: "other", Attempt: 1, Tries: 1, Token: other.leader.Token, Replica: "other", Start: tick,
		})
		c.SleepTo(19990 * time.Millisecond)
		c.Offset(1, 1300*time.Millisecond)
		c.Offset(2, 2600*time.Millisecond)
		c.SleepTo(20020 * time.Millisecond) // the write of the tick was refused, and a larger ballot failed
		c.Offset(1, 0)
		c.Offset(2, 0)
		c.SleepTo(25 * time.Second)
		for _, run := range c.records() {
			if run.Tick.Equal(tick) {
				t.Errorf("the tick of the other leader started again: %v", c.ran())
			}
		}
		if got := b.states("job")["20s"]; got != scheduler.StateLost {
			t.Errorf("recorded %q, ran %v", got, c.ran())
		}
	})
}
