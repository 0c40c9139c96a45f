// Package release_test releases a copy of the repository under a pretended version, and uses it as a user would.
package release_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const (
	root    = "../../../.."
	version = "v0.99.0"
	library = "github.com/redlockfx/redlockfx"
)

// before is what documents say before the first release.
var before = regexp.MustCompile("Until the first release|no release yet|not released yet")

// released are the modules that users fetch beside the library.
var released = []string{"adapters/asynqtick", "adapters/gocronlock", "adapters/rivertick", "cmd/redlockctl", "otelredlock"}

// dependent is nobody's to fetch, and uses one of them.
const dependent = "examples/migration"

func TestRelease_CanBeFetched(t *testing.T) {
	c := clone(t)
	c.addEntry(t, version, "Added")
	c.announce(t)
	c.commit(t, "Release "+version)

	c.pass(t, "scripts/release.sh", version, "check")
	for range 2 { // a step that has been done does nothing
		c.pass(t, "scripts/release.sh", version, "root")
		c.pass(t, "scripts/release.sh", version, "modules")
	}
	for _, module := range released {
		if text := c.read(t, module+"/go.mod"); !strings.Contains(text, "\t"+library+" "+version+"\n") {
			t.Errorf("%s/go.mod does not require %s: %s", module, version, text)
		}
		if sums := c.read(t, module+"/go.sum"); !strings.Contains(sums, library+" "+version+" h1:") {
			t.Errorf("%s/go.sum does not have the checksum of %s", module, version)
		}
	}
	c.pass(t, "scripts/release.sh", version, "verify")

	out := t.TempDir()
	c.pass(t, "scripts/release.sh", version, "binaries", out, runtime.GOOS+"/"+runtime.GOARCH)
	name := strings.Join([]string{"redlockctl", version, runtime.GOOS, runtime.GOARCH}, "_")
	if said := c.output(t, filepath.Join(out, name), "--version"); strings.TrimSpace(said) != "redlockctl version "+version {
		t.Errorf("the binary says %q", said)
	}
	linked := c.output(t, "go", "version", "-m", filepath.Join(out, name))
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(v\S+)`).FindAllStringSubmatch(linked, -1)
	if len(modules) < 5 {
		t.Errorf("only these modules are in the binary: %v", modules)
	}
	for _, module := range append(modules, []string{"", library, version}, []string{"", library + "/cmd/redlockctl", version}) {
		if sbom := read(t, filepath.Join(out, name+".spdx.json")); !strings.Contains(sbom, `"pkg:golang/`+module[1]+"@"+module[2]+`"`) {
			t.Errorf("the SBOM does not have %s %s:\n%s", module[1], module[2], sbom)
		}
	}
	sums := read(t, filepath.Join(out, "SHA256SUMS"))
	if strings.Count(sums, "\n") != 2 || !strings.Contains(sums, "  "+name+"\n") || !strings.Contains(sums, "  "+name+".spdx.json\n") {
		t.Errorf("checksums:\n%s", sums)
	}

	c.pass(t, "scripts/tidy.sh", append([]string{"-diff"}, released...)...) // a release leaves nothing to do
	c.output(t, "go", "-C", dependent, "list", "./...")
	c.staysCompatible(t)
}

// staysCompatible removes an exported name after the release.
func (c copied) staysCompatible(t *testing.T) {
	t.Helper()
	const file = "adapters/gocronlock/gocronlock.go"
	c.write(t, file, strings.Replace(c.read(t, file), "\nfunc Elector(", "\nfunc Leader(", 1))
	c.fail(t, "a patch release must be compatible with "+version, "scripts/release.sh", "v0.99.1", "api", "adapters/gocronlock")
	c.fail(t, "the changelog's entry has no section Changed", "scripts/release.sh", "v0.100.0", "api", "adapters/gocronlock")
	c.addEntry(t, "v0.100.0", "Changed")
	c.pass(t, "scripts/release.sh", "v0.100.0", "api", "adapters/gocronlock")
	c.fail(t, "a minor release must be compatible with "+version, "scripts/release.sh", "v1.1.0", "api", "adapters/gocronlock")
}

func TestRelease_RefusesWhatUsersCannotFetch(t *testing.T) {
	c := clone(t)
	for _, version := range []string{"1.2.3", "v1", "v1.2.3/../x"} {
		c.fail(t, "VERSION must be", "scripts/release.sh", version, "check")
	}
	c.commit(t, "No entry")
	c.fail(t, "has no entry", "scripts/release.sh", version, "check")
	c.addEntry(t, version, "Added")
	c.write(t, "docs/news.md", "There is no release yet.\n")
	c.fail(t, "commit these files first", "scripts/release.sh", version, "check")
	c.commit(t, "Release "+version)
	c.fail(t, "docs/news.md:1:There is no release yet.", "scripts/release.sh", version, "check")
	c.announce(t)
	for _, test := range []struct{ name, file, old, new, want string }{
		{"replace", "otelredlock/go.mod", "\nrequire (", "\nreplace " + library + " => ../\n\nrequire (", "has a replace directive"},
		{"no require", "cmd/redlockctl/go.mod", "\tgithub.com/spf13/cobra ", "\t// github.com/spf13/cobra ", "not tidy"},
		{"no require of the library", "otelredlock/go.mod", "\t" + library + " v", "\t// " + library + " v", "not tidy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := c.read(t, test.file)
			if !strings.Contains(text, test.old) {
				t.Fatalf("%s has no %q", test.file, test.old)
			}
			c.write(t, test.file, strings.Replace(text, test.old, test.new, 1))
			c.commit(t, test.name)
			c.fail(t, test.want, "scripts/release.sh", version, "check")
			c.write(t, test.file, text)
		})
	}
}

// copied is a copy of the repository, with a history of its own, in a folder.
type copied string

// clone copies what git does not ignore, committed or not.
func clone(t *testing.T) copied {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("this is no clone: nothing tells which files belong to the repository")
	}
	// These download what is needed afterwards, when nothing can be.
	for _, command := range [][]string{
		append([]string{"bash", "scripts/tidy.sh", "-diff", "."}, released...),
		{"go", "-C", dependent, "list", "./..."},
		{"go", "-C", "tools", "list", "-deps", "tool"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	c := copied(t.TempDir())
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil || info.IsDir() {
			continue // deleted, or a link to a folder
		}
		c.write(t, file, read(t, filepath.Join(root, file)))
	}
	c.output(t, "git", "init", "-q", "-b", "main")
	return c
}

func (c copied) addEntry(t *testing.T, version, section string) {
	t.Helper()
	const above = "## [Unreleased]\n"
	entry := above + "\n## [" + strings.TrimPrefix(version, "v") + "] - 2001-02-03\n\n### " + section + "\n\n- Everything.\n"
	c.write(t, "CHANGELOG.md", strings.Replace(c.read(t, "CHANGELOG.md"), above, entry, 1))
}

// announce has the documents say that there is a release.
func (c copied) announce(t *testing.T) {
	t.Helper()
	for file := range strings.FieldsSeq(c.output(t, "git", "ls-files", "--cached", "--others", "*.md")) {
		c.write(t, file, before.ReplaceAllString(c.read(t, file), "Released"))
	}
}

func (c copied) commit(t *testing.T, message string) {
	t.Helper()
	c.output(t, "git", "add", "-A")
	c.output(t, "git", "commit", "-q", "-m", message)
}

// pass runs a script that must succeed, and fail one that must fail with these words.
func (c copied) pass(t *testing.T, script string, args ...string) {
	t.Helper()
	if out, err := c.command(t, "bash", append([]string{script}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", script, args, err, out)
	}
}

func (c copied) fail(t *testing.T, want, script string, args ...string) {
	t.Helper()
	out, err := c.command(t, "bash", append([]string{script}, args...)...).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(want)) {
		t.Errorf("%s %v: %v, want an error that says %q\n%s", script, args, err, want, out)
	}
}

func (c copied) output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := c.command(t, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// command returns a command in the copy that reaches no network.
func (c copied) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = string(c)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off",
		// With it the build cache serves copies of a module in other folders.
		"GOFLAGS=-trimpath -buildvcs=false",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.org")
	return cmd
}

func (c copied) read(t *testing.T, file string) string {
	t.Helper()
	return read(t, filepath.Join(string(c), file))
}

func (c copied) write(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(string(c), file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
