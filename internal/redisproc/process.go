//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	askEvery = 5 * time.Millisecond   // between two questions to a starting server
	askLimit = 200 * time.Millisecond // for one of them
)

var errPortTaken = errors.New("port taken by another process")

// process is one redis-server from its start until it has been waited for.
type process struct {
	cmd  *exec.Cmd
	log  string        // file with its output
	done chan struct{} // closed when it is gone; exit is set by then
	exit error
}

// startProcess starts cmd with its output in redis.log of its folder.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, log: filepath.Join(cmd.Dir, "redis.log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()

	started := make(chan error)
	go func() { // ends with the process: kill ends it and waits for done
		defer close(p.done)
		// For the kernel the parent that may die is the thread that forked, so that thread is kept
		// until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.exit = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// answers waits until the server at addr answers and is this process.
func (p *process) answers(ctx context.Context, addr string) error {
	for {
		err := p.ask(ctx, addr)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.failure(addr)
		case <-ctx.Done():
			return fmt.Errorf("redis-server on %s: %w; last answer: %w", addr, context.Cause(ctx), err)
		case <-time.After(askEvery):
		}
	}
}

// ask does not take PONG alone for an answer: on a port lost in a race it is somebody else's.
func (p *process) ask(ctx context.Context, addr string) error {
	deadline := time.Now().Add(askLimit)
	conn, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\nINFO server\r\nQUIT\r\n"); err != nil {
		return err
	}
	reply, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	pong, info, _ := strings.Cut(string(reply), "\r\n")
	if pong != "+PONG" {
		return fmt.Errorf("PING answered with %q", pong)
	}
	if pid := p.cmd.Process.Pid; !strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r", pid)) {
		return fmt.Errorf("it is not our process %d that answers", pid)
	}
	return nil
}

// failure tells why the process ended by itself.
func (p *process) failure(addr string) error {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return errors.Join(p.exit, err)
	}
	if strings.Contains(string(log), "Address already in use") {
		return fmt.Errorf("redis-server on %s: %w", addr, errPortTaken)
	}
	return fmt.Errorf("redis-server on %s ended before it answered (%v):\n%s", addr, p.exit, log)
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process, a stopped one too, and waits until it is gone.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}
