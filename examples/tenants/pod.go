package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// With these variables, the program is one of the processes.
const (
	podVariable   = "TENANTS_POD" // its name
	nodesVariable = "TENANTS_NODES"
	fileVariable  = "TENANTS_FILE"
)

// source has a job for each row.
func source(db *sql.DB, report func(tenant string, run scheduler.Run) error) scheduler.Source {
	load := func(ctx context.Context) (jobs []scheduler.Job, err error) {
		rows, err := db.QueryContext(ctx, `SELECT tenant, spec FROM schedules`)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var tenant, spec string
			if err := rows.Scan(&tenant, &spec); err != nil {
				return nil, err
			}
			jobs = append(jobs, scheduler.Job{Name: tenant, Spec: spec, Run: func(_ context.Context, run scheduler.Run) error {
				return report(tenant, run)
			}})
		}
		return jobs, rows.Err()
	}
	return scheduler.Source{Name: "tenants", Load: load}
}

// lockOptions are the same everywhere.
func lockOptions() []redlock.Option {
	return []redlock.Option{redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl / 5)} // longer than the default, for machines that are busy
}

// bePod is the main function of a process. It returns when its standard input ends, which it also does if its parent dies.
func bePod(name string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // so that the story can be followed
	db, err := sql.Open("sqlite3", "file:"+os.Getenv(fileVariable)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	report := func(tenant string, run scheduler.Run) error {
		return json.NewEncoder(os.Stdout).Encode(event{Pod: name, Tenant: tenant, Tick: run.Tick})
	}
	err = scheduler.Serve(ctx, strings.Split(os.Getenv(nodesVariable), ","), "reports", source(db, report), scheduler.Options{
		Lock: lockOptions(), Election: []election.Option{election.WithIdentity(name, "")},
	})
	return errors.Join(err, db.Close())
}

// pod is a process as its parent sees it.
type pod struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	read  chan struct{} // closed when all of its output has been read
	ended bool
}

// startPod starts a process, whose runs are added to the history.
func startPod(name string, urls []string, file string, h *history) (*pod, error) {
	p := &pod{name: name, cmd: exec.Command(os.Args[0]), read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), podVariable+"="+name, nodesVariable+"="+strings.Join(urls, ","), fileVariable+"="+file)
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		defer close(p.read)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil { // else it was cut off in the line
				h.add(e)
			}
		}
	}()
	return p, nil
}

// stop asks the process to hand over and end, and waits for it.
func (p *pod) stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	impatient := time.AfterFunc(waitLimit, func() { _ = p.cmd.Process.Kill() })
	defer impatient.Stop()
	err := p.stdin.Close()
	<-p.read
	if err = errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("%s did not end well: %w", p.name, err)
	}
	return nil
}

// kill ends the process like kill -9.
func (p *pod) kill() {
	if p.ended {
		return
	}
	p.ended = true
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.read
	_ = p.cmd.Wait()
}
