package redlockfx_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
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

// around makes a program from the example in the package documentation.
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
	goBlock  = regexp.MustCompile("(?s)```go\n(.*?)```")
	docBlock = regexp.MustCompile(`(?m)^//\tfx\.New\((?:\n//.*)*?\n//\t\)\.Run\(\)$`)
	hosts    = regexp.MustCompile(`"r1:6379", "r2:6379", "r3:6379"`)
)

// programs returns the programs in docs/getting-started.md and the package documentation that use fx.
func programs(t *testing.T) map[string]string {
	t.Helper()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	found := make(map[string]string)
	for i, block := range goBlock.FindAllStringSubmatch(read("../docs/getting-started.md"), -1) {
		if strings.Contains(block[1], "redlockfx.Module") {
			found[fmt.Sprintf("getting-started.md, block %d", i+1)] = block[1]
		}
	}
	for i, block := range docBlock.FindAllString(read("doc.go"), -1) {
		found[fmt.Sprintf("doc.go, block %d", i+1)] = fmt.Sprintf(around, regexp.MustCompile(`(?m)^//`).ReplaceAllString(block, "")+"\n")
	}
	if len(found) != 2 {
		t.Fatalf("found %d programs", len(found))
	}
	return found
}

// Each program starts, sends requests to the nodes, and stops successfully on SIGTERM.
func TestDocs_ProgramsStartAndStop(t *testing.T) {
	nodes, err := redisproc.Start(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	for where, program := range programs(t) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			main, other, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "driver.go"), filepath.Join(dir, "program")
			program = hosts.ReplaceAllString(program, `"`+strings.Join(nodes.Addrs(), `", "`)+`"`)
			prefix := filepath.Base(dir) + strings.Map(letters, where) // the programs share the nodes, so each has its own prefix
			program = strings.Replace(program, `{Name: "billing"`, fmt.Sprintf(`{KeyPrefix: %q, Name: "billing"`, prefix), 1)
			for path, text := range map[string]string{main: program, other: driver} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, main, other).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			env := []string{"REDIS_URL=" + strings.Join(nodes.Addrs(), ","), "LISTEN=127.0.0.1:0"}
			start(t, binary, env, func() { awaitKey(t, nodes.Addrs()[0], "{"+prefix+"}") })
		})
	}
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// start runs a program with more of an environment, and stops it once running has returned.
func start(t *testing.T, binary string, env []string, running func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}

// awaitKey waits until the node has the key.
func awaitKey(t *testing.T, node, key string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: node})
	defer client.Close()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		n, err := client.Exists(t.Context(), key).Result()
		if n == 1 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("nobody has asked the node: %v", err)
			return
		}
	}
}
