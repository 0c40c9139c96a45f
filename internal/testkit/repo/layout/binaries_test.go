package layout_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// executables are how files of programs start: ELF, Mach-O of either byte order and size or of several processors, and those
// of Windows.
var executables = []string{
	"\x7fELF", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ",
}

// Nobody can review a program that was built.
func TestFiles_AreNoBuiltPrograms(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("this is no clone: nothing tells which files belong to the repository")
	}
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	tracked := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if len(tracked) < 200 {
		t.Errorf("only %d files were found", len(tracked))
	}
	for _, file := range tracked {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue // deleted, or a link to a folder
		}
		for _, start := range executables {
			if bytes.HasPrefix(text, []byte(start)) {
				t.Errorf("%s is a program: remove it from git, and name it in .gitignore", file)
			}
		}
	}
}
