//go:build unix

package redisproc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	askEvery = 10 * time.Millisecond  // while a server starts
	askLimit = 200 * time.Millisecond // for one answer
)

// process is one redis-server from its start until it has been waited for.
type process struct {
	cmd  *exec.Cmd
	log  string          // file with its output
	done <-chan struct{} // closed when the process is gone
}

// startProcess starts cmd. Its output goes to redis.log in its folder.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, log: filepath.Join(cmd.Dir, "redis.log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = log, log
	if p.done, err = StartChild(cmd); err != nil {
		return nil, err
	}
	return p, nil
}

// answers waits until the server at addr answers and is this process.
func (p *process) answers(ctx context.Context, addr string) error {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		err := p.ask(ctx, addr)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
			continue
		case <-p.done:
			err = p.failure()
		case <-ctx.Done():
			err = fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		}
		return fmt.Errorf("redis-server on %s: %w", addr, err)
	}
}

// ask also checks the process ID. A PONG alone proves nothing: if the port was lost in a race, another server sent it.
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
	if _, err := io.WriteString(conn, "PING\r\nINFO server\r\n"); err != nil {
		return err
	}
	reply := bufio.NewScanner(conn)
	if reply.Scan() && reply.Text() != "+PONG" {
		return fmt.Errorf("PING answered with %q", reply.Text())
	}
	ours := strconv.Itoa(p.cmd.Process.Pid)
	for reply.Scan() {
		if id, found := strings.CutPrefix(reply.Text(), "process_id:"); found {
			if id != ours {
				return fmt.Errorf("process %s answers instead of our process %s", id, ours)
			}
			return nil
		}
		if strings.HasPrefix(reply.Text(), "dragonfly_version:") {
			return nil // Dragonfly does not report its process ID
		}
	}
	return fmt.Errorf("PING or INFO not answered: %w", cmp.Or(reply.Err(), io.ErrUnexpectedEOF))
}

// failure returns why the process ended on its own.
func (p *process) failure() error {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Errorf("ended before it answered (%v): %w", p.cmd.ProcessState, err)
	}
	if strings.Contains(string(log), "Address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("ended before it answered (%v):\n%s", p.cmd.ProcessState, log)
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process, even a stopped one, and waits until it is gone.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}
