package layout_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	action  = regexp.MustCompile(`(?m)^\s*(?:- )?uses:\s*(.*)$`)
	pinned  = regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	watched = regexp.MustCompile(`(?m)^      - (/\S*)$`)
)

// A tag of an action can be moved to other code, a commit cannot.
func TestActions_ArePinnedByCommit(t *testing.T) {
	uses := action.FindAllSubmatch(read(t, filepath.Join(root, ".github/workflows/ci.yml")), -1)
	if len(uses) < 2 {
		t.Errorf("only %d actions were found", len(uses))
	}
	for _, use := range uses {
		if !pinned.Match(use[1]) {
			t.Errorf("%s: write owner/action@commit # v1.2.3", use[1])
		}
	}
}

// Every module has its dependencies updated, and checked for known vulnerabilities.
func TestModules_AreWatched(t *testing.T) {
	var all, found []string
	for folder := range modules(t) {
		all = append(all, path.Join("/", folder))
	}
	for _, folder := range watched.FindAllSubmatch(read(t, filepath.Join(root, ".github/dependabot.yml")), -1) {
		found = append(found, string(folder[1]))
	}
	slices.Sort(all)
	slices.Sort(found)
	if !slices.Equal(all, found) {
		t.Errorf(".github/dependabot.yml watches\n%v, the modules are\n%v", found, all)
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
