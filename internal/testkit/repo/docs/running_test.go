package docs_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// driver replaces the database of the programs in the documents.
const driver = `package main

import (
	"database/sql"
	"database/sql/driver"
	"errors"
)

type none struct{}

func (none) Open(string) (driver.Conn, error) { return nil, errors.New("no database") }

func init() { sql.Register("postgres", none{}) }
`

// around makes a program from the example in the documentation of package fxmodule.
const around = `package main

import (
	"context"
	"database/sql"

	"go.uber.org/fx"
	"go.uber.org/zap"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func openDB() (*sql.DB, error) { return sql.Open("postgres", "") }

func NewInvoiceJob(db *sql.DB, l *redlock.Locker) (scheduler.Job, error) {
	return scheduler.Job{
		Name: "invoices", Spec: "@daily", Run: func(ctx context.Context, _ scheduler.Run) error { return db.PingContext(ctx) },
	}, nil
}

func main() {
%s}
`

var (
	docBlock = regexp.MustCompile(`(?m)^//\tfx\.New\((?:\n//.*)*?\n//\t\)\.Run\(\)$`)
	hosts    = regexp.MustCompile(`"r1:6379", "r2:6379", "r3:6379"`)
)

// Whether fx can build a program is known only when it runs. Each program starts, asks its nodes, and stops
// successfully on SIGTERM. The node is a listener that closes each connection, as nothing else is needed for that.
func TestPrograms_ThatUseFxStartAndStop(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "fxmodule", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{
		"doc.go": fmt.Sprintf(around, regexp.MustCompile(`(?m)^//`).ReplaceAllString(docBlock.FindString(string(text)), "")+"\n"),
	}
	for c := range pages(t)["docs/getting-started.md"].code() {
		if c.language == "go" && strings.Contains(c.text, "redlockfx.Module") {
			programs["getting-started.md"] = c.text
		}
	}
	if len(programs) != 2 || !strings.Contains(programs["doc.go"], "fx.New") {
		t.Fatalf("found %d programs", len(programs))
	}
	for where, program := range programs {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			node, asked := deafNode(t)
			dir := t.TempDir()
			for name, text := range map[string]string{
				"main.go": hosts.ReplaceAllString(program, `"`+node+`"`), "driver.go": driver,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "program"),
				filepath.Join(dir, "main.go"), filepath.Join(dir, "driver.go"))
			build.Dir = root
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			startAndStop(t, filepath.Join(dir, "program"), node, asked)
		})
	}
}

// deafNode listens and closes each connection. The channel gets the connections for which it has room.
func deafNode(t *testing.T) (addr string, asked <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	connections := make(chan struct{}, 1)
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
			select {
			case connections <- struct{}{}:
			default:
			}
		}
	}()
	return listener.Addr().String(), connections
}

// startAndStop runs a program, and stops it when it has asked its node again after fx said that it runs.
func startAndStop(t *testing.T, program, node string, asked <-chan struct{}) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "REDIS_URL="+node, "LISTEN=127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if !strings.Contains(lines.Text(), "RUNNING") {
			continue
		}
		for range 3 { // the first may be from before, and fx waits for signals only a moment later
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Error("it does not ask its node")
			}
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}
