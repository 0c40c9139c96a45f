package election_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
)

var update = flag.Bool("update", false, "write the expected lines of the log again")

// TestLog_OfEachFailure plays the failures of the README on a leader a and a follower b. It compares what both log from info on
// with the files in testdata/log, which docs/operations.md explains.
func TestLog_OfEachFailure(t *testing.T) {
	for name, play := range map[string]func(f *failure){
		"01 start": func(*failure) {},
		"02 one node away": func(f *failure) {
			f.c.Kill(2)
			time.Sleep(4 * ttl)
			f.c.Restart(2)
			time.Sleep(2 * ttl)
		},
		"03 majority away briefly": func(f *failure) {
			f.c.Hang(0, 1)
			time.Sleep(every)
			f.c.Heal()
			time.Sleep(ttl)
		},
		"04 majority away for longer": func(f *failure) {
			f.a.links.Hang(0, 1)
			f.b.links.Hang(0, 1)
			time.Sleep(6 * ttl)
			f.a.links.Heal()
			f.a.leads() // otherwise either might lead
			f.b.links.Heal()
			time.Sleep(3 * ttl)
		},
		"05 leader cut off": func(f *failure) {
			f.a.links.Cut()
			time.Sleep(6 * ttl)
			f.a.links.Heal()
			time.Sleep(ttl)
		},
		"06 deploy": func(f *failure) {
			f.a.stop()
			<-f.a.ended
			time.Sleep(ttl)
		},
		"07 resigned": func(f *failure) {
			term, _ := f.a.Term()
			term.Resign(errors.New("busy"))
			time.Sleep(2 * ttl)
		},
		"08 callback does not stop": func(f *failure) {
			f.lag = time.Minute
			f.a.stop()
			time.Sleep(2 * time.Minute)
		},
		"09 callback panics": func(f *failure) {
			f.panicky <- "oops"
			time.Sleep(2 * ttl)
		},
		"10 wrong password": func(f *failure) {
			for i := range f.c.N {
				f.c.Node(i).RequireAuth("secret")
			}
			time.Sleep(6 * ttl)
		},
		"11 all nodes restart": func(f *failure) {
			for i := range f.c.N {
				f.c.Restart(i)
			}
			time.Sleep(4 * ttl)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				f := newFailure(c)
				time.Sleep(ttl)
				play(f)
				f.compare(t, name)
				for i := range c.N {
					c.Node(i).RequireAuth("")
				}
			})
		})
	}
}

// failure has a leader a, a follower b, and their logs.
type failure struct {
	c       *cluster
	a, b    *candidate
	logs    [2]*observer.ObservedLogs
	lag     time.Duration // how long the callback of a goes on after its context ends; set before that
	panicky chan string   // values with which the callback of a panics
}

func newFailure(c *cluster) *failure {
	f := &failure{c: c, panicky: make(chan string, 1)}
	var all [2]*candidate
	work := []func(context.Context){f.work, func(ctx context.Context) { <-ctx.Done() }}
	for i, id := range []string{"a", "b"} {
		core, logs := observer.New(zapcore.InfoLevel)
		f.logs[i] = logs
		all[i] = c.candidate(id, election.WithLogger(zap.New(core)),
			election.WithCooldown(ttl), election.WithStandby(time.Duration(i)*ttl*2/5), // so that the next leader is known
			election.WithPanicHandler(func(*election.PanicError) {}), election.OnLeader(work[i]))
		all[i].run()
		if i == 0 {
			all[0].leads()
		}
	}
	f.a, f.b = all[0], all[1]
	return f
}

// work is a's callback.
func (f *failure) work(ctx context.Context) {
	select {
	case what := <-f.panicky:
		panic(what)
	case <-ctx.Done():
		time.Sleep(f.lag)
	}
}

// compare compares the log so far with the file of the failure.
func (f *failure) compare(t *testing.T, name string) {
	t.Helper()
	synctest.Wait()
	got := "a:\n" + lines(f.logs[0].All()) + "b:\n" + lines(f.logs[1].All())
	file := filepath.Join("testdata", "log", strings.ReplaceAll(name, " ", "_")+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("logged\n%s\nwant, as in %s,\n%s", got, file, want)
	}
}

// lines returns a line for each entry: level, message, and whom or what it is about. Lines about single nodes come last, sorted
// by address, since nodes fail and recover at the same time.
func lines(entries []observer.LoggedEntry) string {
	var all, nodes []string
	for _, e := range entries {
		fields := e.ContextMap()
		parts := []string{fmt.Sprintf("  %-5s %s", e.Level, e.Message)}
		for _, key := range []string{"leader", "node", "work"} {
			if value, ok := fields[key]; ok {
				parts = append(parts, fmt.Sprintf("%s: %v", key, value))
			}
		}
		if cause, ok := fields["cause"].(string); ok {
			parts = append(parts, "cause: "+strings.Join(strings.SplitN(cause, ": ", 3)[:2], ": ")) // omits the rest, which has times
		}
		line := strings.Join(parts, "; ")
		switch {
		case fields["node"] != nil:
			nodes = append(nodes, line)
		case len(all) == 0 || all[len(all)-1] != line: // how often a renewal fails before the stop deadline is random
			all = append(all, line)
		}
	}
	slices.Sort(nodes)
	return strings.Join(append(all, nodes...), "\n") + "\n"
}
