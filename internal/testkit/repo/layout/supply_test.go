package layout_test

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	action = regexp.MustCompile(`^\s*(?:- )?uses:\s*(\S+)(.*)$`)
	pinned = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	tagged = regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
)

// A tag of an action can be moved to other code, a commit cannot.
func TestActions_ArePinnedByCommit(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.y*ml"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		for lines := bufio.NewScanner(bytes.NewReader(read(t, file))); lines.Scan(); {
			if use := action.FindStringSubmatch(lines.Text()); use != nil {
				found++
				if !pinned.MatchString(use[1]) || !tagged.MatchString(use[2]) {
					t.Errorf("%s: %s%s: write owner/action@commit # v1.2.3", file, use[1], use[2])
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d actions were found", found)
	}
}

// Every module has its dependencies updated, and checked for known vulnerabilities.
func TestModules_AreWatched(t *testing.T) {
	var all []string
	for folder := range modules(t) {
		all = append(all, path.Join("/", folder))
	}
	_, list, _ := strings.Cut(string(read(t, filepath.Join(root, ".github/dependabot.yml"))), "directories:\n")
	var watched []string
	for line := range strings.Lines(list) {
		folder, is := strings.CutPrefix(strings.TrimSpace(line), "- /")
		if !is {
			break
		}
		watched = append(watched, "/"+folder)
	}
	slices.Sort(all)
	slices.Sort(watched)
	if !slices.Equal(all, watched) {
		t.Errorf(".github/dependabot.yml watches\n%v, the modules are\n%v", watched, all)
	}
	if !bytes.Contains(read(t, filepath.Join(root, ".github/workflows/ci.yml")), []byte("run: make vulnerabilities\n")) {
		t.Error("the hosted checks do not run govulncheck")
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
