//go:build unix

package integration_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A name that is used once leaves a record. Later grants of other names remove such records when they are old, a few at
// a time.
func TestSweep_RemovesOldRecordsFewAtATimeAndNoOther(t *testing.T) {
	t.Parallel()
	const (
		old        = 100_000
		held, free = 500, 500 // that are still needed
		slowAfter  = time.Millisecond
		sweepAfter = 8   // grants, while most records are old
		atOnce     = 128 // records that a sweep asks for
		most       = 192 // records that a sweep reads: 128, plus the rest of a bucket, which has seven or more in Valkey
	)
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	p := records.Default
	p.Fill(t, "held ", held, records.SomebodyElse, time.Hour, server)
	p.Fill(t, "free ", free, "", -30*time.Minute, server) // the retention is an hour
	p.Fill(t, "old ", old, "", -2*time.Hour, server)
	somebody := []string{"SOMEBODYELSE"}
	p.Waiting(t, "given up", -2*time.Hour, somebody, server)
	p.Waiting(t, "waited for", -30*time.Minute, somebody, server)
	must(t, server.ConfigSet(t.Context(), "slowlog-log-slower-than", fmt.Sprint(slowAfter.Microseconds())).Err(),
		server.ConfigSet(t.Context(), "slowlog-max-len", "1000000").Err(), server.Do(t.Context(), "SLOWLOG", "RESET").Err())
	l := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))

	for range 30 * sweepAfter {
		release(t, acquire(t, l, "x"))
	}
	l.Nodes(t.Context()) // the last sweep has ended
	left, looks, sweeps := p.Names(t, server), calls(t, server, "hscan"), 30
	if looks > sweeps {
		t.Errorf("at most %d sweeps looked at %d records", sweeps, looks*atOnce)
	}
	if removed := held + free + old - left; removed < 10*most || removed > sweeps*most {
		t.Errorf("at most %d sweeps removed %d records", sweeps, removed)
	}

	// Then several at a time.
	const users, each, enough = 8, 250, (held + free) * 3 / 2
	grants, bound := 0, old/8+5000
	for p.Names(t, server) > enough && grants < bound {
		var working sync.WaitGroup
		for i := range users {
			working.Go(func() { // ends with its calls
				for range each {
					lease, err := l.Acquire(t.Context(), fmt.Sprint("user ", i))
					if err == nil {
						err = lease.Release(t.Context())
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		working.Wait()
		grants += users * each
	}
	left = p.Names(t, server)
	t.Logf("%d grants left %d of %d records", grants, left, held+free+old)
	if left > enough {
		t.Errorf("after %d grants %d records are left, want %d at most", grants, left, enough)
	}
	if h, f := p.Filled(t, "held ", held, server), p.Filled(t, "free ", free, server); h < held || f < free {
		t.Errorf("of those that are needed, %d of %d and %d of %d are left", h, held, f, free)
	}

	for name, want := range map[string]int{"given up": 0, "waited for": 1} {
		listed, err := p.WaitingOn(t.Context(), name, server)
		if must(t, err); len(listed) != want {
			t.Errorf("%q has a list of %d, want %d", name, len(listed), want)
		}
	}

	// The duration depends on the machine, so it is only logged.
	slow, longest := 0, time.Duration(0)
	log, err := server.SlowLogGet(t.Context(), 1_000_000).Result()
	must(t, err)
	for _, entry := range log {
		if entry.Args[0] == "evalsha" {
			slow, longest = slow+1, max(longest, entry.Duration)
		}
	}
	t.Logf("for looking at %d records, %d calls of a script took the server longer than %v, the longest of them %v",
		calls(t, server, "hscan")*atOnce, slow, slowAfter, longest)
}

// Each process takes a few locks and ends. It searches for old records at most once, wherever they are.
func TestSweep_OfShortProcessesReachesAllRecords(t *testing.T) {
	t.Parallel()
	const old, processes, grants = 5_000, 200, 7
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	p := records.Default
	p.Fill(t, "old ", old, "", -2*time.Hour, server)
	for range processes {
		l := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))
		for range grants {
			release(t, acquire(t, l, "x"))
		}
		must(t, l.Close(t.Context()))
	}
	if left := p.Names(t, server); left > old/4 {
		t.Errorf("%d of %d old records are left", left, old)
	}
}

// A node without memory to spare keeps, extends and frees the locks that it has. It refuses others, until the process that it
// refuses has removed old records.
func TestSweep_OfAFullNodeMakesRoom(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	l := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))
	extended, freed := acquire(t, l, "extended"), acquire(t, l, "freed")
	const old = 5_000
	records.Default.Fill(t, "old ", old, "", -2*time.Hour, server)
	limit := number(t, server, "memory", "used_memory") - 100_000
	must(t, server.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(),
		server.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(limit)).Err())
	must(t, extended.Extend(t.Context()))
	release(t, freed)
	_, err := l.TryAcquire(t.Context(), "new")
	want.Text(t, err, "OOM")
	release(t, acquire(t, l, "new"))
	must(t, extended.Extend(t.Context()))
	release(t, extended)
}
