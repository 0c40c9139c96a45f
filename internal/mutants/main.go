// Mutants breaks each promise, one at a time and in an overlay of the module, and runs the test that must
// then fail. A mutation that no test notices is a promise that nobody keeps: it exits with 1.
//
//	go run ./internal/mutants [-run part-of-a-name]
package main

import (
	"bytes"
	"context"
	"encoding/json"
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

func all() []mutation {
	return slices.Concat(ofLocks, ofWaiting, ofElection, ofClaims, ofRecords, ofHearing, ofPages, ofTools)
}

func run(ctx context.Context, part string) (err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var problems []error
	for _, m := range all() {
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

// noticed runs the test on the mutated code, and returns the tests that failed.
func (m mutation) noticed(ctx context.Context, dir string) (failed string, err error) {
	mutated, err := m.mutated()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	instead := filepath.Join(dir, filepath.Base(m.file))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: instead}})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	err = errors.Join(os.WriteFile(instead, []byte(mutated), 0o600), os.WriteFile(overlayFile, overlay, 0o600))
	if err != nil {
		return "", err
	}

	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	test := filepath.Join(dir, "mutated.test")
	compile := exec.CommandContext(ctx, "go", "test", "-C", m.pkg, "-c", "-overlay", overlayFile, "-o", test, ".")
	if out, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not compile, and so shows nothing: %s", out)
	}
	run := exec.CommandContext(ctx, test, "-test.timeout=60s", "-test.run="+m.test)
	run.Dir = m.pkg
	out, err := run.CombinedOutput()
	if err == nil {
		return "NOT NOTICED", errors.New("no test fails")
	}
	return failures(out), nil
}

// mutated is the file's text with the edits.
func (m mutation) mutated() (string, error) {
	original, err := os.ReadFile(m.file)
	if err != nil {
		return "", fmt.Errorf("run it in the module's root: %w", err)
	}
	text := string(original)
	for _, e := range m.edits {
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%q stands %d times in %s, it must once", e.old, n, m.file)
		}
		text = strings.Replace(text, e.old, e.new, 1)
	}
	return text, nil
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
