package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// hostile has characters that control a terminal: escapes of C0 and C1, bidirectional controls, a tag character, and
// a line separator.
const hostile = "a\x1b]0;owned\a\x1b[31m\u009b2J\u202egnp.exe\u2066\u200f\U000e0041\u2028\rb\x7f"

// isUnsafe reports by Unicode category whether redlockctl must not write a character.
func isUnsafe(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

func TestPlain_HasNothingThatATerminalObeys(t *testing.T) {
	if got := cell("one\ntwo"); got != "one" {
		t.Errorf("%q", got)
	}
	if got := oneLine(errors.New("one\r\ntwo" + hostile)); strings.ContainsFunc(got, isUnsafe) || !strings.HasPrefix(got, "one; two") {
		t.Errorf("%q", got)
	}
	text, err := encode(map[string]string{"x": hostile}, true)
	if err != nil || strings.ContainsFunc(strings.ReplaceAll(string(text), "\n", ""), isUnsafe) {
		t.Errorf("%q, %v", text, err)
	}
	var back map[string]string
	if err := json.Unmarshal(text, &back); err != nil || back["x"] != hostile {
		t.Errorf("%q, %v", back, err)
	}
}

// raw runs a command on all nodes.
func raw(t *testing.T, c *redisproc.Cluster, args ...any) {
	t.Helper()
	for i := range c.Addrs() {
		want.NoError(t, node(t, c, i).Do(t.Context(), args...).Err())
	}
}

// Texts from the nodes reach the terminals of operators, so they must be escaped.
func TestOutput_HasNothingThatATerminalObeys(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	_, stop := led(t, c)
	do("run", "--name", "first", "--value", "first", "--", "true").want(t, 0, "", "")
	stop()

	holder, out := process(t, c, "run", "--name", "held", "--value", hostile, "--", "sh", "-c", "echo up; exec sleep 1000")
	until(t, "it holds the lock", func() bool { return strings.Contains(out.String(), "up") || holder.ProcessState != nil })
	calls := [][]string{{"lock", "held"}, {"lock", "held", "-o", "json"}, {"run", "--name", "held", "--", "true"}}
	check := func(calls [][]string) {
		t.Helper()
		for _, args := range calls {
			r := do(args...)
			if strings.ContainsFunc(strings.ReplaceAll(r.out+r.err, "\n", ""), isUnsafe) || !strings.Contains(r.out+r.err, "owned") {
				t.Errorf("%v: %+v", args, r)
			}
		}
	}
	check(calls)

	// Add a job with such a name, and one whose name has a special meaning for cobra.
	state, err := node(t, c, 0).HGet(t.Context(), "{redlock}:jobs:billing", "good").Result()
	want.NoError(t, err)
	for _, name := range []string{hostile, "_activeHelp_ owned"} {
		raw(t, c, "HSET", "{redlock}:jobs:billing", name, state)
		raw(t, c, "ZADD", "{redlock}:names:billing", 0, name)
	}
	r := call(cobra.ShellCompRequestCmd, "-n", strings.Join(c.Addrs(), ","), "--ttl", ttl.String(), "-e", "billing", "pause", "")
	if strings.Contains(r.out, "owned") || !strings.Contains(r.out, "good\n") {
		t.Errorf("completion: %+v", r)
	}
	if r := do("jobs"); strings.ContainsFunc(strings.ReplaceAll(r.out+r.err, "\n", ""), isUnsafe) {
		t.Errorf("jobs: %+v", r)
	}
	// Errors quote a layout of another version.
	raw(t, c, "HSET", "{redlock}", "g", hostile)
	check([][]string{{"nodes"}, {"nodes", "-o", "json"}, {"run", "--name", "x", "--", "true"}})
}
