package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// With asProgram in the environment, this binary is redlockctl: a watchdog, or a process that a test starts.
const asProgram = "REDLOCKCTL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asOtherUser) != "" {
		beOtherUser()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == watchdogName || os.Getenv(asProgram) != "" {
		main()
		return
	}
	// Tests with servers mostly wait, so run more of them at a time than a small machine has processors.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmain.Run(closing{m})
}

const (
	ttl     = 2 * time.Second
	longTTL = "5s" // of unhurried commands
)

// common is three nodes that grant, for all tests that need no nodes of their own. The first of them starts it.
var common struct {
	start sync.Once
	nodes *redisproc.Cluster
	err   error
}

// closing closes the common nodes after the tests.
type closing struct{ *testing.M }

func (c closing) Run() int {
	code := c.M.Run()
	if common.nodes != nil {
		if err := common.nodes.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// shared returns the common nodes. The test runs in parallel with others from here on. Its lock has the test's name.
func shared(t *testing.T) *redisproc.Cluster {
	t.Helper()
	t.Parallel()
	common.start.Do(func() {
		common.nodes, common.err = redisproc.Start(context.Background(), 3) // they outlive the test
		if common.err == nil {
			ready(t, common.nodes, "--ttl", longTTL)
		}
	})
	if common.err != nil {
		t.Fatal(common.err)
	}
	return common.nodes
}

// lose gives the lock of a test to somebody else. Its holder has lost it.
func lose(t *testing.T, c *redisproc.Cluster) {
	t.Helper()
	for i := range c.Addrs() {
		records.Default.Put(t, t.Name(), records.SomebodyElse, time.Minute, node(t, c, i))
	}
}

// servers starts three nodes for tests that break them or read all that they keep; see ready. The test runs in parallel
// with others from here on.
func servers(t *testing.T) *redisproc.Cluster {
	t.Helper()
	t.Parallel()
	c, err := redisproc.Start(t.Context(), 3)
	want.NoError(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ready waits until the new nodes grant a lock with the usual TTL, or with that of more flags.
func ready(t *testing.T, c *redisproc.Cluster, more ...string) *redisproc.Cluster {
	t.Helper()
	if r := on(c)(append(more, "run", "--name", "first", "--wait", "30s", "--", "true")...); r.code != 0 {
		t.Fatalf("the nodes do not grant: %+v", r)
	}
	return c
}

// result is the outcome of a call.
type result struct {
	code     int
	out, err string
}

// on returns a function that makes calls with these nodes.
func on(c *redisproc.Cluster) func(args ...string) result {
	return func(args ...string) result {
		return call(append([]string{"-n", strings.Join(c.Addrs(), ","), "--ttl", ttl.String(), "-e", "billing"}, args...)...)
	}
}

func call(args ...string) result {
	var out, err bytes.Buffer
	code := execute(context.Background(), args, streams{strings.NewReader(""), &out, &err})
	return result{code, out.String(), err.String()}
}

// want fails the test unless the call has this result, and at most one line on stderr.
func (r result) want(t *testing.T, code int, out, complaint string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, complaint) ||
		complaint == "" && r.err != "" || strings.Count(r.err, "\n") > 1 ||
		r.err != "" && !strings.HasPrefix(r.err, "redlockctl: ") {
		t.Errorf("code %d, out %q, err %q; want %d, %q, %q", r.code, r.out, r.err, code, out, complaint)
	}
}

// led starts a service, and waits until it leads and the nodes know its jobs.
func led(t *testing.T, c *redisproc.Cluster, more ...scheduler.Job) (leader *election.Elector, stop func()) {
	t.Helper()
	leader, stop = service(t, c, "pod-1", more...)
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the jobs", func() bool { return strings.Contains(on(c)("jobs").out, "nightly report") })
	return leader, stop
}

// service starts a replica with jobs.
func service(t *testing.T, c *redisproc.Cluster, id string, more ...scheduler.Job) (leader *election.Elector, stop func()) {
	t.Helper()
	l, err := redlock.Open(c.Addrs(), redlock.WithTTL(ttl))
	want.NoError(t, err)
	e, err := election.New(l, "billing", election.WithIdentity(id, "http://"+id), election.WithHooks(termlog.Hooks()))
	want.NoError(t, err)
	s, err := scheduler.New(e)
	want.NoError(t, err)
	err = s.Add(
		scheduler.Job{Name: "good", Spec: "@every 1s", Run: func(context.Context, scheduler.Run) error { return nil }},
		scheduler.Job{Name: "nightly report", Spec: "CRON_TZ=Europe/Berlin 30 2 * * *",
			Run: func(context.Context, scheduler.Run) error { return nil }},
	)
	want.NoError(t, err)
	want.NoError(t, s.Add(more...))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { // ends with ctx
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := l.Close(closing); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

// until waits for something to become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 30 s not true: %s", what)
		}
	}
}

// process starts redlockctl as a separate process.
func process(t *testing.T, c *redisproc.Cluster, args ...string) (p *exec.Cmd, out *output) {
	t.Helper()
	p, out = prepared(t, c, args...)
	start(t, p)
	return p, out
}

// prepared returns a process of redlockctl that is not started yet.
func prepared(t *testing.T, c *redisproc.Cluster, args ...string) (p *exec.Cmd, out *output) {
	t.Helper()
	self, err := os.Executable()
	want.NoError(t, err)
	p = exec.Command(self, append([]string{"-n", strings.Join(c.Addrs(), ","), "--ttl", ttl.String(), "-e", "billing"}, args...)...)
	p.Env = append(os.Environ(), asProgram+"=1")
	out = &output{}
	p.Stdout, p.Stderr = out, out
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v ended with %v, it said: %s", args, p.ProcessState, out)
		}
	})
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.WaitDelay = 5 * time.Second // processes that it failed to kill may hold its output open
	return p, out
}

// start starts a process, and kills it at the end of the test.
func start(t *testing.T, p *exec.Cmd) {
	t.Helper()
	want.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill() // usually it has ended already
		_ = p.Wait()
	})
}

// output may be read while it is written.
type output struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// decode reads JSON that a call printed.
func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	return v
}

// job has the fields of a job's JSON that the tests check, decoded as a user's program would.
type job struct {
	Name, Zone      string
	Next            time.Time
	Paused, Running bool
	Pause           *pastChange
	Last            *struct{ State string }
}

// pastChange and pastJSON are the same for a history.
type pastChange struct {
	What, By, Reason, Replica string
	At                        time.Time
}

type pastJSON struct {
	Records []struct {
		State, Replica, Tick string
		Manual               bool
	}
	Changes []pastChange
}
