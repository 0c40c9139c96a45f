// Mutants breaks each promise in a copy of the module, one at a time, and runs the test that must then
// fail. A mutation that no test notices is a promise that nobody keeps: it exits with 1.
//
//	go run ./internal/mutants [-run part-of-a-name]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mutation is one change of the code.
type mutation struct {
	name  string
	file  string
	edits []edit
	pkg   string // whose test must fail
	test  string // pattern of its name
}

// edit replaces the one place where old stands.
type edit struct{ old, new string }

func main() {
	part := flag.String("run", "", "only the mutations with this in their name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *part); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, part string) (err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copyModule(dir); err != nil {
		return err
	}
	var problems []error
	for _, m := range slices.Concat(ofLocks, ofElection) {
		if !strings.Contains(m.name, part) {
			continue
		}
		failed, err := m.noticed(ctx, dir)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.name, err))
		}
		fmt.Printf("%-55s %s\n", m.name, failed)
	}
	return errors.Join(problems...)
}

// copyModule copies the folders that the tests need.
func copyModule(dir string) error {
	for _, name := range []string{"internal", "redlock", "election", "scheduler", "fxmodule"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("run it in the module's root: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// noticed applies the mutation, runs its test and undoes it. It returns the tests that failed.
func (m mutation) noticed(ctx context.Context, dir string) (failed string, err error) {
	file := filepath.Join(dir, m.file)
	original, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, original, 0o600)) }()
	mutated := string(original)
	for _, e := range m.edits {
		if n := strings.Count(mutated, e.old); n != 1 {
			return "", fmt.Errorf("%q stands %d times in %s, it must once", e.old, n, m.file)
		}
		mutated = strings.Replace(mutated, e.old, e.new, 1)
	}
	if err := os.WriteFile(file, []byte(mutated), 0o600); err != nil {
		return "", err
	}

	for _, args := range [][]string{
		{"vet", m.pkg}, // a mutation that does not compile shows nothing
		{"test", "-count=1", "-timeout=60s", "-run", m.test, m.pkg},
	} {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		cancel()
		switch {
		case args[0] == "vet" && err != nil:
			return "", fmt.Errorf("does not compile: %s", out)
		case args[0] == "test" && err == nil:
			return "NOT NOTICED", errors.New("no test fails")
		case args[0] == "test":
			return failures(out), nil
		}
	}
	return "", nil
}

// failures names the tests in the output that failed.
func failures(out []byte) string {
	var names []string
	for line := range bytes.Lines(out) {
		if rest, ok := bytes.CutPrefix(line, []byte("--- FAIL: ")); ok {
			name, _, _ := strings.Cut(string(rest), " ")
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "the test did not end or crashed"
	}
	return strings.Join(names, ", ")
}
