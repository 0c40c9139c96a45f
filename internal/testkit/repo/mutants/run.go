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
	"strings"
	"time"
)

// run compiles the package with the patch and runs its test. It returns who noticed, or an error.
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
	binary := filepath.Join(dir, "mutated.test")
	pkg := filepath.Join(root, m.pkg)
	out, err := output(ctx, dir, pkg, "go", "test", "-c", "-overlay="+overlay, "-o="+binary,
		"-vet=off", "-ldflags=-w", ".") // without debug information a test links several times faster
	if err != nil {
		line := firstLine(out)
		if _, path, ok := strings.Cut(line, filepath.Base(dir)+"/"); ok {
			line = path
		}
		return "", fmt.Errorf("does not compile, write another patch: %s", line)
	}
	out, err = output(ctx, dir, pkg, binary, "-test.timeout=60s", "-test.run="+pattern(m.test))
	if err == nil {
		return "", fmt.Errorf("survived, as %s of ./%s passes: write a test that notices, or name it in the line \"test:\"",
			m.test, m.pkg)
	}
	// A test binary may fail before its tests, where a program that they need is missing.
	top, _, _ := strings.Cut(m.test, "/")
	if !strings.Contains(out, "--- FAIL: "+top) && !strings.Contains(out, "panic: ") {
		return "", fmt.Errorf("shows nothing, as %s of ./%s does not run: %s", m.test, m.pkg, firstLine(out))
	}
	if strings.Contains(out, "panic: test timed out") {
		return m.test + ", which did not end,", nil
	}
	return m.test, nil
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

// output runs a command in the folder wd and returns what it wrote. It goes through a file, because a pipe would stay
// open for as long as any process that the command has left behind.
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

// pattern is what -test.run needs to run this test alone: of a sentence of the conformance suite, with every number of nodes.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + `(,_\d+_nodes)?$`
	}
	return strings.Join(parts, "/")
}

// firstLine is the first line that says something: the go command begins with one that names the package.
func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "it wrote nothing"
}
