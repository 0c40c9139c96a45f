package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// run compiles the package with the patch and runs its test. It returns the test that noticed the patch, or an error.
func (m mutant) run(ctx context.Context, root string) (by string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return "", err
	}
	binary, err := compile(ctx, dir, root, m.pkg, "-overlay="+overlay)
	if err != nil {
		return "", fmt.Errorf("does not compile, write another patch: %w", err)
	}
	out, err := m.play(ctx, dir, root, binary)
	top, _, _ := strings.Cut(m.test, "/")
	_, since, started := strings.Cut(out, "=== RUN   "+top+"\n")
	failed := started && (strings.Contains(since, "--- FAIL: ") || strings.Contains(since, "panic: "))
	switch {
	case err == nil:
		return "", fmt.Errorf("survived, because %s of ./%s passes: write a test that notices, or name it in the line \"test:\"",
			m.test, m.pkg)
	case strings.Contains(out, "panic: test timed out"):
		return "", fmt.Errorf("shows nothing, because %s of ./%s does not end: name a test that fails, or write another patch",
			m.test, m.pkg)
	case !failed: // a test binary may fail before its tests run, if a program that they need is missing
		return "", fmt.Errorf("shows nothing, because %s of ./%s does not run: %s", m.test, m.pkg, firstLine(out))
	}
	return m.test, nil
}

// play runs the mutant's test in a test binary.
func (m mutant) play(ctx context.Context, dir, root, binary string) (out string, err error) {
	return output(ctx, dir, filepath.Join(root, m.pkg), binary, "-test.v", "-test.timeout=60s", "-test.run="+pattern(m.test))
}

// compile compiles the tests of a package into dir.
func compile(ctx context.Context, dir, root, pkg string, args ...string) (binary string, err error) {
	binary = filepath.Join(dir, "mutated.test")
	all := []string{"test", "-c", "-o=" + binary, "-vet=off", "-ldflags=-w"} // linking is faster without debug information
	out, err := output(ctx, dir, filepath.Join(root, pkg), "go", slices.Concat(all, args, []string{"."})...)
	if err != nil {
		line := firstLine(out)
		if _, path, ok := strings.Cut(line, filepath.Base(dir)+"/"); ok {
			line = path
		}
		return "", errors.New(line)
	}
	return binary, nil
}

// passes returns an error if a test of these mutants fails without any patch, because it would then notice everything.
// All mutants must be of one package.
func passes(ctx context.Context, root string, mutants []mutant) (err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := compile(ctx, dir, root, mutants[0].pkg)
	if err != nil {
		return err
	}
	var problems []error
	played := map[string]bool{}
	for _, m := range mutants {
		if played[m.test] {
			continue
		}
		played[m.test] = true
		if out, err := m.play(ctx, dir, root, binary); err != nil {
			problems = append(problems, fmt.Errorf("%s of ./%s fails without a patch, fix it first: %s", m.test, m.pkg,
				firstLine(out)))
		}
	}
	return errors.Join(problems...)
}

// overlay writes the mutated files into dir, and returns the file that tells the go command to use them.
func (m mutant) overlay(root, dir string) (file string, err error) {
	changed, err := m.apply(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range changed {
		original, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		mutated := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(mutated), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(mutated, text, 0o600); err != nil {
			return "", err
		}
		replace[original] = mutated
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// output runs a command in the folder wd and returns its output. The output goes through a file, because a pipe would
// stay open as long as any process that the command has left behind.
func output(ctx context.Context, dir, wd, name string, args ...string) (string, error) {
	file, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = wd, file, file
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the go command then ends its compilers
	cmd.WaitDelay = 5 * time.Second
	failed := errors.Join(cmd.Run(), file.Close())
	text, err := os.ReadFile(file.Name())
	return string(text), errors.Join(failed, err)
}

// pattern returns the -test.run pattern that runs only this test. A case of the conformance suite runs with every
// number of nodes.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + `(,_\d+_nodes)?$`
	}
	return strings.Join(parts, "/")
}

// firstLine returns the first informative line. It skips the line with which the go command names the package, and the
// lines with which a test binary names tests.
func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "=== ") {
			return line
		}
	}
	return "it wrote nothing"
}
