package register_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/testkit/race"
)

func TestClaim_OneRunOfManyWinsATick(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		s := a.mustPromise()
		if s.Before != "" || !s.Since.Equal(c.Start) || s.Mark.Before(c.Start.Add(2*time.Second)) {
			t.Errorf("a new job has %+v", s)
		}
		time.Sleep(10 * time.Second)
		tick := c.tick(10 * time.Second)
		a.wins(tick, "first")
		a.wins(tick, "first") // asked again
		o := a.claim(tick, "second", 1)
		if o.Won || !o.Taken || o.By.Run != "first" {
			t.Errorf("a second run got %+v", o)
		}
		if o := a.claim(tick.Add(-time.Second), "older", 1); o.Won || !o.Taken {
			t.Errorf("a tick that was jumped over got %+v", o)
		}
		a.wins(tick.Add(time.Second), "next")
		if o := a.claim(tick.Add(10*time.Second), "early", 1); o.Won || o.Taken {
			t.Errorf("a tick ten seconds ahead got %+v", o)
		}
	})
}

func TestPromise_TheLeaderBeforeIsFenced(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader(1), c.leader(2)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		first, second := c.tick(9*time.Second), c.tick(10*time.Second)
		a.wins(first, "a")
		s := b.mustPromise()
		if !s.Mark.Equal(first) || len(s.Open) != 1 || s.Open[0].Run != "a" || s.Before == "" {
			t.Errorf("the next leader was told %+v", s)
		}
		if o := a.claim(second, "a2", 1); o.Won || o.Fenced != 2 || !errors.Is(o.Err, register.ErrFenced) {
			t.Errorf("the leader before got %+v", o)
		}
		if _, err := a.promise(); !errors.Is(err, register.ErrFenced) {
			t.Errorf("the leader before was promised: %v", err)
		}
		b.wins(second, "b")
	})
}

// Whatever is lost on the way: no tick has two winners, and where nothing is lost each has one.
func TestClaim_ContestedTicksHaveOneWinner(t *testing.T) {
	const claimants = 3
	ticks := *contested
	for _, n := range []int{1, 3, 5} {
		for _, percent := range []int{0, 10, 30} {
			t.Run(fmt.Sprintf("%d nodes, %d%% of replies lost", n, percent), func(t *testing.T) {
				inBubble(t, n, func(t *testing.T, c *cluster) {
					var all []*leader
					for range claimants { // of one token: a quorum would refuse all others
						all = append(all, c.leader(7))
					}
					for _, l := range all {
						l.mustPromise()
					}
					time.Sleep(5 * time.Second)
					random := rand.New(rand.NewPCG(uint64(n), uint64(percent)))
					none := 0
					for i := range ticks {
						time.Sleep(time.Second)
						tick := time.Now().Truncate(time.Second)
						var wg sync.WaitGroup
						won := make([]bool, claimants)
						for who, l := range all {
							luck := rand.New(rand.NewPCG(random.Uint64(), 0))
							wg.Go(func() {
								for try := 0; try < 3 && !won[who]; try++ {
									l.links.Heal()
									for node := range n {
										if luck.IntN(100) < percent {
											l.links.DropReplies(node)
										}
									}
									o := l.claim(tick, fmt.Sprint("run", who), 1)
									won[who] = o.Won
									if o.Taken {
										return
									}
								}
							})
						}
						wg.Wait()
						winners := 0
						for _, w := range won {
							if w {
								winners++
							}
						}
						if winners > 1 {
							t.Fatalf("tick %d has %d winners", i, winners)
						}
						if winners == 0 {
							none++
						}
					}
					t.Logf("%d of %d ticks without a winner", none, ticks)
					if percent == 0 && none > 0 {
						t.Errorf("%d ticks without a winner, though nothing was lost", none)
					}
				})
			})
		}
	}
}

func TestClaim_ANodeThatForgotDoesNotVoteUntilItIsAdmitted(t *testing.T) {
	for name, forget := range map[string]func(c *cluster, node int){
		"flushed":     func(c *cluster, node int) { c.Wipe(node) },
		"restarted":   func(c *cluster, node int) { c.Restart(node) },
		"from a copy": func(c *cluster, node int) { c.RestartFrom(node, c.Snapshot(node)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, rival := c.leader(1), c.leader(2)
				a.mustPromise()
				rival.memories = a.memories
				time.Sleep(10 * time.Second)
				tick := c.tick(10 * time.Second)
				a.links.Cut(2)
				a.wins(tick, "a") // on nodes 0 and 1
				forget(c, 0)
				rival.links.Cut(1)
				if o := rival.claim(tick, "b", 1); o.Won || !o.Forgot {
					t.Fatalf("got %+v of a node that forgot", o)
				}
				// Node 1 is away, so nobody knows of the vote; admission happens when the guard is over.
				if _, err := rival.promise(); err == nil && name != "" {
					t.Error("admitted by one other node, under guard")
				}
				time.Sleep(longest)
				rival.mustPromise()
				if o := rival.claim(tick, "b", 1); o.Won {
					t.Fatal("the tick has two winners")
				}
				time.Sleep(3 * time.Second)
				rival.wins(time.Now().Truncate(time.Second), "c")
			})
		})
	}
}

// The vote of a leader that is gone is no reason to give a tick up: a majority is left.
func TestClaim_OfATickWithAVoteOfAnEarlierTermIsAskedOn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader(1), c.leader(2)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		for node := range 3 { // one of them is asked first
			time.Sleep(time.Second)
			tick := time.Now().Truncate(time.Second)
			a.minority(tick, fmt.Sprint("a", node), node)
			b.mustPromise()
			b.wins(tick, fmt.Sprint("b", node))
			b.token += 2
			a.token += 2
			a.memories = b.memories
		}
	})
}

// An admission that comes when the node has forgotten once more does nothing.
func TestAdmit_IsBoundToTheMemoryThatDidNotKnow(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
		c.Wipe(0)
		const trip = 20 * time.Millisecond
		a.links.Delay(trip, 0)
		time.AfterFunc(9*trip/2, func() { c.Wipe(0) }) // it has been heard twice, the admission is on its way
		a.mustPromise()
		if c.Node(0).Exists("{redlock}:job:x:" + job) {
			t.Error("the node was admitted")
		}
	})
}

// A node that has forgotten its promise to one leader, and was admitted by another one, has not promised.
func TestClaim_AForgottenPromiseDoesNotCount(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader(2), c.leader(1)
		b.mustPromise()
		a.links.Cut(2)
		a.mustPromise() // of nodes 0 and 1
		c.Wipe(0)
		b.links.Cut(1)
		time.Sleep(time.Second)
		if _, err := b.promise(); err == nil { // the guard of node 0 begins
			t.Fatal("admitted under guard, by one other node")
		}
		time.Sleep(longest)
		b.mustPromise() // of nodes 0 and 2
		time.Sleep(3 * time.Second)
		a.links.Cut(1)
		if o := a.claim(time.Now().Truncate(time.Second), "a", 1); !o.Forgot {
			t.Errorf("got %+v of a node that has promised nothing to this leader since", o)
		}
	})
}

func TestFinish_OfTheRunItselfStands(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader(1), c.leader(2)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		tick := time.Now().Truncate(time.Second)
		a.wins(tick, "a")
		b.mustPromise()
		said := func(state string, own bool, attempt int, run string) string {
			t.Helper()
			record := a.record(tick, run, attempt)
			record.State = state
			if err := a.finish(record, own); err != nil {
				t.Fatal(err)
			}
			v, err := b.Read(t.Context(), job)
			if err != nil || len(v.Records) != 1 {
				t.Fatalf("%+v, %v", v, err)
			}
			return v.Records[0].State
		}
		for i, step := range []struct {
			state, want string
			own         bool
			attempt     int
			run         string
		}{
			{register.Lost, register.Lost, false, 1, "a"},
			{register.OK, register.OK, true, 1, "a"},
			{register.Lost, register.OK, false, 1, "a"},
			{register.Failed, register.OK, true, 1, "another"},
			{register.Failed, register.Failed, true, 2, "a2"},
			{register.OK, register.Failed, true, 1, "a"},
		} {
			if got := said(step.state, step.own, step.attempt, step.run); got != step.want {
				t.Errorf("step %d: %s stands, want %s", i+1, got, step.want)
			}
		}
	})
}

// What the nodes keep of a job does not grow.
func TestClaim_RecordsAreKeptWithinBounds(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		size := func() int {
			fields, err := c.Node(0).HKeys("{redlock}:runs:x:" + job)
			if err != nil {
				t.Fatal(err)
			}
			return len(fields)
		}
		for i := range 200 {
			time.Sleep(time.Second)
			tick := time.Now().Truncate(time.Second)
			a.wins(tick, fmt.Sprint("run", i))
			record := a.record(tick, fmt.Sprint("run", i), 1)
			record.State = register.OK
			if i == 20 {
				continue // it stays open
			}
			if err := a.finish(record, true); err != nil {
				t.Fatal(err)
			}
		}
		if n := size(); n < 50 || n > 60 {
			t.Errorf("%d records are kept", n)
		}
		if s := a.mustPromise(); len(s.Open) != 1 || s.Open[0].Run != "run20" {
			t.Errorf("open: %+v", s.Open)
		}
	})
}

// A process that lost its term before it knew what became of its claim asks again with the same run when it leads
// again, if the nodes still have it so or have nothing. Whatever happens in between: one process has the tick.
func TestClaim_ARunThatIsAskedForAgainInALaterTermIsTheOnlyOne(t *testing.T) {
	const terms = 6
	rounds := race.Scale(10, 30)
	for _, n := range []int{1, 3, 5} {
		t.Run(fmt.Sprintf("%d nodes", n), func(t *testing.T) {
			inBubble(t, n, func(t *testing.T, c *cluster) {
				random := rand.New(rand.NewPCG(uint64(n), 1))
				both := []*leader{c.leader(0), c.leader(0)}
				token := uint64(0)
				lead := func(l *leader) (register.State, error) {
					token++
					l.token = token
					return l.promise()
				}
				if _, err := lead(both[0]); err != nil {
					t.Fatal(err)
				}
				again := 0
				for round := range rounds {
					time.Sleep(5 * time.Second)
					tick := time.Now().Truncate(time.Second)
					winner, asked := -1, make([]bool, len(both))
					for range terms {
						who := random.IntN(len(both))
						l, run := both[who], fmt.Sprint("run ", round, " of ", who)
						l.links.Heal()
						time.Sleep(1100 * time.Millisecond) // go-redis dials again after a second
						state, err := lead(l)
						if err != nil {
							t.Fatal(err)
						}
						own := slices.ContainsFunc(state.Open, func(r register.Record) bool { return r.Run == run })
						if state.Mark.After(tick) || state.Mark.Equal(tick) && !(asked[who] && own) {
							continue // it was decided, or another one's run may be under way
						}
						for node := range n {
							switch random.IntN(4) {
							case 0:
								l.links.DropReplies(node)
							case 1:
								l.links.Cut(node)
							}
						}
						o := l.claim(tick, run, 1)
						if o.Won && winner >= 0 && winner != who {
							t.Fatalf("round %d: both have the tick", round)
						}
						if o.Won && asked[who] {
							again++
						}
						if o.Won {
							winner = who
						}
						asked[who] = true
					}
				}
				t.Logf("%d runs were won when they were asked for again", again)
				if again == 0 {
					t.Error("none was won when it was asked for again: the test shows nothing")
				}
			})
		})
	}
}
