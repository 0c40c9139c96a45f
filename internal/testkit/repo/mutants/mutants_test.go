package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// A patch that no longer fits the code shows nothing, and nobody would know before all mutants are run.
func TestPatches_FitTheCode(t *testing.T) {
	patches := os.DirFS("testdata")
	files, err := choose(patches, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := read("../../../..", patches, files)
	for _, err := range problems {
		t.Error(err)
	}
	if n := len(files); n > 250 {
		t.Errorf("%d mutants, want at most 250: each makes the code that it quotes harder to change", n)
	}
	of := map[string]int{}
	for _, file := range files {
		folder, _, _ := strings.Cut(file, "/")
		of[folder]++
	}
	for promise := 1; promise <= 11; promise++ {
		if folder := fmt.Sprintf("p%d", promise); of[folder] < 2 {
			t.Errorf("%d mutants in testdata/%s break promise %d, want at least 2", of[folder], folder, promise)
		}
	}
}

const (
	source = `package twice

func Twice(n int) int {
	if n < 0 {
		return 0
	}
	if n == 0 {
		return 0
	}
	return 2 * n
}
`
	tests = `package twice

import "testing"

func TestTwice(t *testing.T) {
	t.Run("a half of four", func(t *testing.T) {
		if n := Twice(2); n != 4 {
			t.Error(n)
		}
	})
}

func TestNothing(t *testing.T) {}

func TestBroken(t *testing.T) { t.Error() }
`
	patch = `Twice doubles its argument.

package: ./twice
test: TestTwice

--- a/twice/twice.go
+++ b/twice/twice.go
@@ -10,2 +10,2 @@
-	return 2 * n
+	return 3 * n
 }
`
)

// run runs a mutant of the patch with other words in the place of some. It returns what was written and the error.
func run(t *testing.T, old, new string) (out, problems string, err error) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, fstest.MapFS{
		"go.mod":              {Data: []byte("module example.org\n\ngo 1.26\n")},
		"twice/twice.go":      {Data: []byte(source)},
		"twice/twice_test.go": {Data: []byte(tests)},
	}); err != nil {
		t.Fatal(err)
	}
	patches := fstest.MapFS{"p1/x.patch": {Data: []byte(strings.ReplaceAll(patch, old, new))}}
	var o, p bytes.Buffer
	err = runAll(t.Context(), root, patches, nil, log.New(&o, "", 0), log.New(&p, "", 0))
	return o.String(), p.String(), err
}

func TestRunAll(t *testing.T) {
	for _, c := range []struct{ name, old, new, problem string }{
		{name: "noticed"},
		{"by a subtest", "TestTwice", "TestTwice/a_half_of_four", ""},
		{"lines moved", "-10,2 +10,2", "-1,2 +1,2", ""},
		{"made by git", "--- a/", "diff --git a/twice/twice.go b/twice/twice.go\nindex 1234567..89abcde 100644\n--- a/", ""},
		{"survived", "TestTwice", "TestNothing", "survived, because TestNothing of ./twice passes"},
		{
			"failing without it", "TestTwice", "TestBroken",
			"shows nothing, because TestBroken of ./twice fails without a patch, fix it first",
		},
		{"no such variable", "3 * n", "3 * m", "does not compile, write another patch: twice_twice.go:10:13: undefined: m"},
		{
			"code changed", "-	return 2", "-	return 4",
			`does not apply: twice/twice.go does not have the lines "\treturn 4 * n\n}\n"`,
		},
		{
			"several places", "-	return 2 * n\n+	return 3 * n\n }", "-		return 0\n+		return 1\n 	}",
			`does not apply: twice/twice.go has the lines "\t\treturn 0\n\t}\n" at lines 5 and 8, add lines of context`,
		},
		{"test removed", "TestTwice", "TestThrice", "test TestThrice of package ./twice does not exist"},
		{"subtest removed", "TestTwice", "TestTwice/a_half", "test TestTwice/a_half of package ./twice does not exist"},
		{"no rule", "Twice doubles its argument.\n\n", "", "has no complete header"},
		{"other text", " }\n", "a brace\n", `has the line "a brace", which begins like none of a diff`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, problems, err := run(t, c.old, c.new)
			switch {
			case c.problem != "":
				if !strings.Contains(problems, "p1/x") || !strings.Contains(problems, ": "+c.problem) || out != "" {
					t.Errorf("wrote %q and the problem %q", out, problems)
				}
				if err == nil || err.Error() != "1 of 1 mutants are not noticed" {
					t.Errorf("got error %v", err)
				}
			case err != nil || problems != "" || !strings.HasPrefix(out, "p1/x: noticed by TestTwice") ||
				!strings.Contains(out, "\n1 mutants, all noticed, in "):
				t.Errorf("wrote %q and the problem %q, got error %v", out, problems, err)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	patches := fstest.MapFS{"p1/x.patch": {}, "p1/y.patch": {}, "p10/x.patch": {}}
	for _, c := range []struct{ names, want, problem string }{
		{"", "[p1/x.patch p1/y.patch p10/x.patch]", ""},
		{"p1", "[p1/x.patch p1/y.patch]", ""},
		{"p1/ p1/x", "[p1/x.patch p1/y.patch]", ""},
		{"p10/x.patch p1/y", "[p1/y.patch p10/x.patch]", ""},
		{"p1 p1/z", "[]", "there is no mutant p1/z; p1 has x, y"},
		{"p", "[]", "there is no folder or mutant p; the folders are p1, p10"},
	} {
		got, err := choose(patches, strings.Fields(c.names))
		if fmt.Sprint(got) != c.want || (err == nil) != (c.problem == "") || err != nil && err.Error() != c.problem {
			t.Errorf("%q: got %v, %v", c.names, got, err)
		}
	}
}
