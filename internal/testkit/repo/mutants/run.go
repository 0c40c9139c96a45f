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

// A binary has the compiled tests of a package.
type binary struct{ dir, root, pkg string }

// compile compiles the tests of a package, with some files replaced. Close the binary.
func compile(ctx context.Context, root, pkg string, replaced map[string]string) (b binary, err error) {
	if b.dir, err = os.MkdirTemp("", "mutant"); err != nil {
		return b, err
	}
	if b.root, err = filepath.Abs(root); err != nil {
		return b, err
	}
	b.pkg = pkg
	// The go command compiles the replacements, so nobody else sees them, and it compiles nothing that did not change.
	overlay := map[string]string{}
	for name, text := range replaced {
		file := filepath.Join(b.dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return b, err
		}
		overlay[filepath.Join(b.root, name)] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return b, err
	}
	if err := os.WriteFile(b.path("overlay"), text, 0o600); err != nil {
		return b, err
	}
	// Compiling without optimization takes half the time, and linking is faster without debug information.
	out, err := b.output(ctx, b.root, "go", "test", "-c", "-vet=off", "-gcflags=./...=-N -l", "-ldflags=-s -w",
		"-overlay="+b.path("overlay"), "-o="+b.path("test"), "./"+pkg)
	if err != nil {
		return b, errors.New(strings.ReplaceAll(firstLine(out), b.dir+"/", ""))
	}
	return b, nil
}

func (b binary) path(name string) string { return filepath.Join(b.dir, name) }

func (b binary) close() error { return os.RemoveAll(b.dir) }

// play runs one test. A case of the conformance suite runs with every number of nodes.
func (b binary) play(ctx context.Context, test string) (out string, err error) {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + `(,_\d+_nodes)?$`
	}
	return b.output(ctx, filepath.Join(b.root, b.pkg), b.path("test"), "-test.v", "-test.failfast", "-test.timeout=2m",
		"-test.run="+strings.Join(parts, "/"))
}

func (b binary) output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the go command then ends its compilers
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run returns nil if the mutant's test notices it. whole has the tests of the package without a patch: a test that fails
// there would notice everything.
func (m mutant) run(ctx context.Context, root string, whole binary) (err error) {
	if out, err := whole.play(ctx, m.test); err != nil {
		return fmt.Errorf("shows nothing, because %s of ./%s fails without a patch, fix it first: %s", m.test, m.pkg,
			firstLine(out))
	}
	changed, err := m.apply(root)
	if err != nil {
		return err
	}
	b, err := compile(ctx, root, m.pkg, changed)
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return fmt.Errorf("does not compile, write another patch: %w", err)
	}
	out, err := b.play(ctx, m.test)
	top, _, _ := strings.Cut(m.test, "/")
	_, since, _ := strings.Cut(out, "=== RUN   "+top+"\n")
	switch {
	case err == nil:
		return fmt.Errorf("survived, because %s of ./%s passes: write a test that notices, or name it in the line "+
			`"test:"`, m.test, m.pkg)
	case strings.Contains(out, "panic: test timed out"):
		return fmt.Errorf("shows nothing, because %s of ./%s does not end: name a test that fails, or write another patch",
			m.test, m.pkg)
	case !strings.Contains(since, "--- FAIL: ") && !strings.Contains(since, "panic: "):
		return fmt.Errorf("shows nothing, because %s of ./%s does not run: %s", m.test, m.pkg, firstLine(out))
	}
	return nil
}

// firstLine returns the first line that says something. It skips the line with which the go command names the package,
// and the lines with which a test binary names tests.
func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "=== ") {
			return line
		}
	}
	return "it wrote nothing"
}
