//go:build unix

package once_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// service is three replicas.
type service struct {
	t        *testing.T
	settings settings
	readers  sync.WaitGroup // one for each process that was started; all end with their processes
	events   chan reported

	leader *process // the last one that has said that it leads
	all    []*process
}

// reported is an event that a process has reported.
type reported struct {
	event
	by *process
}

type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone <-chan struct{}
}

func startService(t *testing.T, s settings) *service {
	t.Helper()
	v := &service{t: t, settings: s, events: make(chan reported, 1000)}
	for range 3 {
		v.start()
	}
	t.Cleanup(v.close)
	return v
}

func (v *service) start() {
	v.t.Helper()
	variable, err := json.Marshal(v.settings)
	must(v.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), settingsVariable+"="+string(variable))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(v.t, err)
	out, write, err := os.Pipe()
	must(v.t, err)
	cmd.Stdout = write
	p := &process{cmd: cmd, in: in}
	p.gone, err = redisproc.StartChild(cmd)
	must(v.t, err, write.Close())
	v.all = append(v.all, p)
	v.readers.Go(func() { // ends with the process, waited for in close
		defer func() { _ = out.Close() }()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				v.t.Errorf("line %q: %v", lines.Bytes(), err)
			}
			v.events <- reported{e, p}
		}
	})
}

func (v *service) close() {
	for _, p := range v.all {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.gone
		_ = p.in.Close()
	}
	over := make(chan struct{})
	go func() { v.readers.Wait(); close(over) }() // received below
	for {
		select {
		case <-v.events: // so that no reader is held up
		case <-over:
			return
		}
	}
}

// await handles events until one is as wanted.
func (v *service) await(what string, wanted func(reported) bool) {
	v.t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case e := <-v.events:
			if e.Leads {
				v.leader = e.by
			}
			if wanted(e) {
				return
			}
		case <-deadline:
			v.t.Fatalf("waited for a minute: %s", what)
		}
	}
}

// current returns the process that leads, as far as is known.
func (v *service) current() *process {
	v.t.Helper()
	for {
		select {
		case e := <-v.events:
			if e.Leads {
				v.leader = e.by
			}
			continue
		default:
		}
		if v.leader != nil {
			return v.leader
		}
		v.await("somebody leads", func(e reported) bool { return e.Leads })
	}
}

// order has the leader carry out an order. It reports false if another one leads before that.
func (v *service) order(o order) (*process, bool) {
	v.t.Helper()
	p := v.current()
	line, err := json.Marshal(o)
	must(v.t, err)
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		v.t.Fatal(err)
	}
	reached := false
	v.await("a leader "+string(o.Step), func(e reported) bool {
		reached = e.by == p && e.Step == o.Step
		return reached || e.Leads && e.by != p
	})
	return p, reached
}

// kill has the leader kill itself at a step, and starts another process.
func (v *service) kill(at step) bool {
	v.t.Helper()
	p, reached := v.order(order{at, syscall.SIGKILL})
	if !reached {
		return false
	}
	<-p.gone
	v.leader = nil
	v.start()
	v.current()
	return true
}

// stop has the leader stop itself at a step for longer than its lease, until another one leads.
func (v *service) stop(at step) bool {
	v.t.Helper()
	p, reached := v.order(order{at, syscall.SIGSTOP})
	if !reached {
		return false
	}
	v.await("another one leads", func(e reported) bool { return e.Leads && e.by != p })
	<-time.After(ttl / 2) // its first runs are under way, or wait for the one that is stopped
	must(v.t, p.cmd.Process.Signal(syscall.SIGCONT))
	return true
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
