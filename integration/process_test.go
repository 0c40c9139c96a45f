//go:build unix

package integration_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// process is a replica as its test sees it.
type process struct {
	settings
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer    // read it only when done
	done   <-chan struct{} // closed when the process is gone
	fated  bool            // the test has ended it
}

// startProcess starts the test binary as a replica whose lines go to log.
func startProcess(t *testing.T, s settings, log func(integration.Event)) *process {
	t.Helper()
	variable, err := json.Marshal(s)
	must(t, err)
	// On a busy machine, the links in this process have priority. Replicas that get no answer in time dial again, and
	// links that could not keep up with that would never recover.
	p := &process{settings: s, t: t, cmd: exec.Command("nice", "-n", "10", os.Args[0])}
	p.cmd.Env = append(os.Environ(), settingsVariable+"="+string(variable),
		"GORACE=halt_on_error=1") // so that a data race ends the process, which fails the test
	p.cmd.Stdout, p.cmd.Stderr = &lines{t: t, log: log}, &p.stderr
	p.done, err = redisproc.StartChild(p.cmd)
	must(t, err)
	return p
}

// signal returns a time before the signal.
func (p *process) signal(sig syscall.Signal) time.Duration {
	p.t.Helper()
	p.fated = p.fated || sig == syscall.SIGKILL || sig == syscall.SIGTERM
	now := shared.now()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("%v to %s: %v", sig, p.Name, err)
	}
	return now
}

// kill ends the process and waits for it. It reports a process that had ended too early.
func (p *process) kill() {
	select {
	case <-p.done:
		if !p.fated {
			p.t.Errorf("%s ended by itself: %v", p.Name, p.cmd.ProcessState)
		}
	default:
		_ = p.cmd.Process.Kill() // the next line checks whether it had ended by itself
		<-p.done
	}
}

// lines passes on the events that are written to it, each as soon as its line is complete.
type lines struct {
	t    *testing.T
	log  func(integration.Event)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		var e integration.Event
		if err := json.Unmarshal(l.rest[:end], &e); err != nil {
			l.t.Errorf("line %q: %v", l.rest[:end], err)
		}
		l.log(e)
		l.rest = slices.Clone(l.rest[end+1:])
	}
}
