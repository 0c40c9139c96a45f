package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/testkit/secret"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// password must not appear in anything that redlockctl writes.
const password = "S3cretPassw0rd"

// No output of a command has a part of a password, wherever it was typed.
func TestErrors_NeverShowAPasswordInAnyPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nodes")
	secret.Check(t, func(r *rapid.T, s secret.Mistyped) {
		if err := os.WriteFile(file, []byte("127.0.0.1:1\n"+s.URL+"\n"), 0o600); err != nil {
			r.Fatal(err)
		}
		for _, nodes := range [][]string{{"--nodes", "127.0.0.1:1," + s.URL}, {"--nodes-file", file}} {
			var out bytes.Buffer
			// The second node makes an even list, which is always refused.
			code := execute(t.Context(), append(nodes, "--timeout", "1ms", "lock", "x"), streams{strings.NewReader(""), &out, &out})
			if part := s.In(out.String()); part != "" || code == 0 {
				r.Fatalf("%q: code %d, shows %q: %s", s.URL, code, part, out.String())
			}
		}
	})
}

// A password with a space makes an argument of two words, and a command may report an error about either.
func TestErrors_NeverRepeatAnArgumentThatMayBeAnAddress(t *testing.T) {
	t.Parallel()
	const node = "127.0.0.1:1"
	on := func(args ...string) []string { return append([]string{"-n", node, "--timeout", "1s"}, args...) }
	for _, url := range []string{
		"redis://locks:" + password + "@r1:6379", "rediss://:" + password,
		"redis://:my " + password + "@r1:6379", "locks:" + password + "@r1:6379", "my " + password + "@r1:6379",
		"redis://:my \"" + password + "@r1:6379", "redis://my " + password, "a=redis://:x=my " + password + "@r1",
		"redis://:my\n" + password + "@r1:6379", "redis://:my,0 " + password + "@r1:6379",
		"valkey://:" + strings.Repeat(password, 20) + "@r1:6379", // errors quote the first characters of it
	} {
		for _, args := range [][]string{
			{"jobs", url}, {url}, {"--" + url}, {"-" + url}, {"--colour=" + url}, {"-e", url, "jobs", url}, {"next", url},
			{"next", "--from", url, "@daily"},
			{"completion", "bash", url}, {"help", url}, {"-o", url, "nodes"}, {"--ttl", url, "nodes"}, {"history", "a", "b", url},
			{"--nodes-file", url, "nodes"}, {"--nodes", url, "nodes"}, on("lock", url), on("-e", url, "leader"), on("-e"+url, "leader"),
			on("--election="+url, "jobs"), on("-e", "x", "history", url), on("-e", "x", "pause", url), on("--prefix", url, "nodes"),
			on("--tls-ca", url, "nodes"), on("--tls-cert", url, "--tls-key", url, "nodes"), on("run", "--name", url, "--", "true"),
			on("run", "--name", "x", "--", url), on("run", "--name", "x", "--", "-n", url), on("run", "--name", "x", "--grace", url, "--", "true"),
			on("guard", "--reset", "--node", url), on("guard", "--reset", "--yes", "--node", url), on("guard", "--reset", url),
		} {
			if r := call(args...); strings.Contains(r.out+r.err, password) {
				t.Errorf("%q: %+v", args, r)
			}
		}
	}
	// These errors are about a part of an argument.
	for _, spec := range []string{"0 0 * * " + password + "@r1:6379", "0 0 * * mon,my:" + password + "@r1", "CRON_TZ=my:" + password + "@r1 @daily"} {
		if r := call("next", spec); strings.Contains(r.out+r.err, password) || r.code != misused {
			t.Errorf("%q: %+v", spec, r)
		}
	}
	call(on("lock", "free")...).want(t, unreachable, "", `holder of "free"`)
	call("next", "@daily", "--from", "noon").want(t, misused, "", `--from "noon" must be like`)
	call("-n", "redis://a1:6379,redis://a1:6379,redis://b:1", "nodes").want(t, misused, "", "nodes 1 and 2 of 3 are the same server a1:6379")
}

// endingWriter cancels a context at the first write.
type endingWriter struct {
	bytes.Buffer
	cancel func()
}

func (w *endingWriter) Write(text []byte) (int, error) {
	w.cancel()
	return w.Buffer.Write(text)
}

func TestWatch_RepeatsNoElectionThatMayBeAnAddress(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := &endingWriter{cancel: cancel}
	args := []string{"-n", "127.0.0.1:1", "-e", "redis://:my " + password + "@r1:6379", "--watch", "leader"}
	code := execute(ctx, args, streams{strings.NewReader(""), io.Discard, err})
	if text := err.String(); code != 0 || !strings.Contains(text, "no quorum") || strings.Contains(text, password) {
		t.Errorf("code %d: %s", code, text)
	}
}

// Shells show the stderr of completion.
func TestCompletion_RepeatsNoElectionThatMayBeAnAddress(t *testing.T) {
	const url = "redis://:my " + password + "@r1:6379"
	complete := exec.CommandContext(t.Context(), os.Args[0], cobra.ShellCompRequestCmd, "-n", "127.0.0.1:1", "-e", url, "pause", "")
	complete.Env = append(os.Environ(), asProgram+"=yes")
	out, err := complete.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no quorum") || strings.Contains(string(out), password) {
		t.Errorf("%v: %s", err, out)
	}
}

// All parts of this split list look like addresses.
func TestNodes_AreRefusedIfTheyWereSplitInAPassword(t *testing.T) {
	const list = "redis://locks:77," + password + ",x:y@r1:6379"
	t.Setenv(nodesVariable, list)
	r := call("lock", "x")
	r.want(t, misused, "", "of the 3 addresses only some have a user and a password")
	t.Setenv(nodesVariable, "")
	file := nodesFile(t, 0o600, list)
	for _, r := range []result{
		r, call("lock", "x", "--nodes-file", file), call("guard", "--nodes-file", file), call("lock", "x", "-n", list),
	} {
		if r.code != misused || strings.Contains(strings.ToLower(r.out+r.err), strings.ToLower(password)) || strings.Contains(r.err, "77") {
			t.Errorf("%+v", r)
		}
	}
}

// People often publish help texts, so they must not show values of the environment.
func TestHelp_HasNothingOfTheEnvironment(t *testing.T) {
	for _, variable := range []string{
		nodesVariable, nodesFileVariable, electionVariable, prefixVariable, tlsCAVariable, tlsCertVariable, tlsKeyVariable,
	} {
		t.Setenv(variable, "redis://:"+password+"@127.0.0.1:7101")
	}
	var calls [][]string
	for _, c := range newRoot(nil, streams{}).Commands() {
		calls = append(calls, []string{"help", c.Name()}, []string{c.Name(), "--help"})
	}
	for _, args := range append(calls, []string{}, []string{"help"}, []string{"--help"}, []string{"completion", "bash"},
		[]string{cobra.ShellCompRequestCmd, "jobs", "--"}, []string{cobra.ShellCompRequestCmd, "-"}) {
		if r := call(args...); r.code != 0 || r.out == "" || strings.Contains(r.out+r.err, password) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// nodesFile writes a file with nodes.
func nodesFile(t *testing.T, mode os.FileMode, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nodes")
	want.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	want.NoError(t, os.Chmod(file, mode))
	return file
}

func TestNodesFile_IsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"a:1\nb:1\nc:1\n":                           "[a:1 b:1 c:1]",
		"a:1, b:1 ,c:1,":                            "[a:1  b:1  c:1]",
		"\ufeff# marked\na:1,,":                     "[a:1 ]", // the second is refused, because its variable is not set
		"# three of them\n a:1\r\n\n  # b\nb:1,c:1": "[a:1 b:1 c:1]",
		"redis://:a#b@r1:1\n":                       "[redis://:a#b@r1:1]", // not a comment
	} {
		for name, p := range map[string]*program{
			"flag": {flags: flags{nodesFile: nodesFile(t, 0o644, text)}}, "variable": {},
		} {
			t.Setenv(nodesVariable, "")
			t.Setenv(nodesFileVariable, nodesFile(t, 0o400, text))
			if name == "flag" {
				t.Setenv(nodesVariable, "ignored:1")
			}
			if all, err := p.addresses(); err != nil || fmt.Sprint(all) != want {
				t.Errorf("%s: %q gives %v, %v", name, text, all, err)
			}
		}
	}
}

func TestNodes_AreRefusedWhereTheyAreUnclearOrPublic(t *testing.T) {
	good := nodesFile(t, 0o600, "127.0.0.1:1")
	missing := filepath.Join(t.TempDir(), "missing")
	secretURL := "redis://:" + password + "@127.0.0.1:1"
	for complaint, test := range map[string]struct {
		list, file string // the environment variables
		args       []string
	}{
		"no nodes: give --nodes host:port,... or --nodes-file FILE":                             {},
		`stat "` + missing + `": no such file`:                                                  {args: []string{"--nodes-file", missing}},
		`stat "` + missing + `\n": no such file`:                                                {file: missing + "\n"},
		"node 4 of 4: redlock: config: the node's address is empty":                             {list: "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,,"},
		"node 1 of 1: redlock: config: the node's address begins or ends with a quotation mark": {list: "'127.0.0.1:1'"},
		// The forms of addresses are not hidden.
		"must be host:port or redis://[user:password@]host:port[/db], or rediss:// for TLS": {list: "http://" + password},
		"or redis://[user:password@]host:port[/db], or rediss:// for TLS":                   {args: []string{"--nodes", "redis://"}},
		"has no node; each line must be host:port":                                          {args: []string{"--nodes-file", nodesFile(t, 0o600, "# none\n\n")}},
		"every user of this machine may write":                                              {args: []string{"--nodes-file", nodesFile(t, 0o602, "127.0.0.1:1")}},
		"is a directory":                                                                    {args: []string{"--nodes-file", t.TempDir()}},
		"given twice: use --nodes or --nodes-file":                                          {args: []string{"--nodes", "127.0.0.1:1", "--nodes-file", good}},
		"given twice: set REDLOCK_NODES or":                                                 {list: "127.0.0.1:1", file: good},
		"looks like the nodes themselves":                                                   {file: secretURL},
		"node 2 of 3 of --nodes has a password, and every":                                  {args: []string{"--nodes", "127.0.0.1:1," + secretURL + ",127.0.0.1:2"}},
	} {
		t.Setenv(nodesVariable, test.list)
		t.Setenv(nodesFileVariable, test.file)
		r := call(append([]string{"nodes"}, test.args...)...)
		r.want(t, misused, "", complaint)
		if strings.Contains(r.err, password) {
			t.Errorf("it shows the password: %s", r.err)
		}
	}
	// Other users cannot read the environment, so a password there is accepted.
	t.Setenv(nodesVariable, secretURL)
	t.Setenv(nodesFileVariable, "")
	call("nodes").want(t, unreachable, "connection refused", "127.0.0.1:1")
}

func TestRun_KeepsTheNodesFromTheCommandAndTheWatchdog(t *testing.T) {
	c := shared(t)
	var list strings.Builder
	for _, addr := range c.Addrs() {
		fmt.Fprintf(&list, "redis://default:%s@%s\n", password, addr)
	}
	file := nodesFile(t, 0o600, list.String())
	for _, keep := range []bool{false, true} {
		args := []string{"run", "--name", t.Name()}
		if keep {
			args = append(args, "--keep-env")
		}
		p, out := prepared(t, c, append(args, "--", "sh", "-c", "env; echo up; read end")...)
		p.Args = append(p.Args[:1:1], p.Args[3:]...) // without --nodes
		p.Env = append(p.Env, nodesFileVariable+"="+file, nodesVariable+"=", "KEPT=yes")
		in, err := p.StdinPipe()
		want.NoError(t, err)
		start(t, p)
		until(t, "the command is up", func() bool { return strings.Contains(out.String(), "\nup\n") })
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", watchdogOf(t, p.Process.Pid)))
		if err != nil || len(env) > 0 {
			t.Errorf("the watchdog has the environment %q, %v", env, err)
		}
		want.NoError(t, in.Close())
		_ = p.Wait() // the command fails, because read gets the end of file
		text := out.String()
		if got := strings.Contains(text, nodesFileVariable) && strings.Contains(text, nodesVariable+"="); got != keep ||
			!strings.Contains(text, "KEPT=yes") || !strings.Contains(text, "REDLOCK_TOKEN=") {
			t.Errorf("with --keep-env %v the command has\n%s", keep, text)
		}
	}
}
