package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// driver replaces the database of the programs in the documents, and has them stop when they run.
const driver = `package main

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type none struct{}

func (none) Open(string) (driver.Conn, error) { return nil, errors.New("no database") }

func init() {
	sql.Register("postgres", none{})
	signal.Notify(make(chan os.Signal), syscall.SIGTERM)
	go func() { // until fx waits for the signal
		for range time.Tick(100 * time.Millisecond) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		}
	}()
}
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

// Whether fx can build a program is known only when it runs. Each program starts, and stops successfully on SIGTERM. No
// node is needed for that.
func TestPrograms_ThatUseFxStartAndStop(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "fxmodule", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{
		"doc.go": fmt.Sprintf(around, regexp.MustCompile(`(?m)^//`).ReplaceAllString(docBlock.FindString(string(text)), "")+"\n"),
	}
	for _, c := range pages(t)["docs/getting-started.md"].code {
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
			const node = "127.0.0.1:1"
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
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "program"))
			cmd.Env = append(os.Environ(), "REDIS_URL="+node, "LISTEN=127.0.0.1:0")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "RUNNING") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
