package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// A patch that no longer fits the code shows nothing, and nobody would know before all mutants are run.
func TestPatches_FitTheCode(t *testing.T) {
	mutants, problems := read("../../../..", os.DirFS("testdata"))
	for _, err := range problems {
		t.Error(err)
	}
	for promise := 1; promise <= 11; promise++ {
		n, folder := 0, fmt.Sprintf("p%d/", promise)
		for _, m := range mutants {
			if strings.HasPrefix(m.path, folder) {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%d mutants break promise %d, want at least 2 in testdata/%s", n, promise, folder)
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
`
	sentences = `package conformance

var sentence = struct{ Name string }{Name: "Twice is even"}
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

func repository(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	err := os.CopyFS(root, fstest.MapFS{
		"go.mod":                          {Data: []byte("module example.org\n\ngo 1.26\n")},
		"twice/twice.go":                  {Data: []byte(source)},
		"twice/twice_test.go":             {Data: []byte(tests)},
		"internal/conformance/numbers.go": {Data: []byte(sentences)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestRead_SaysWhatIsWrongWithAPatch(t *testing.T) {
	root := repository(t)
	for _, c := range []struct{ name, old, new, problem string }{
		{name: "good"},
		{"lines moved", "-10,2 +10,2", "-1,2 +1,2", ""},
		{"made by git", "--- a/", "diff --git a/twice/twice.go b/twice/twice.go\nindex 1234567..89abcde 100644\n--- a/", ""},
		{"subtest", "TestTwice", "TestTwice/a_half_of_four", ""},
		{"sentence", "TestTwice", "TestTwice/Twice_is_even,_3_nodes", ""},
		{
			"code changed", "-	return 2", "-	return 4",
			"does not apply: hunk 1 of twice/twice.go fits nowhere, write the patch for the present code",
		},
		{
			"several places", "-	return 2 * n\n+	return 3 * n\n }", "-		return 0\n+		return 1\n 	}",
			"does not apply: hunk 1 of twice/twice.go fits at lines 5 and 8, add lines of context",
		},
		{
			"file removed", "/twice.go", "/thrice.go",
			"does not apply: there is no file twice/thrice.go, write the patch for the present code",
		},
		{
			"new file", "--- a/twice/twice.go", "--- /dev/null",
			"is not a unified diff, write it again with diff -u: gitdiff: line 8: new file depends on old contents",
		},
		{
			"no Go", "3 * n", "3 *",
			"does not compile, write another patch: twice/twice.go:11:1: expected operand, found '}'",
		},
		{
			"test removed", "TestTwice", "TestThrice",
			"test TestThrice of package ./twice does not exist: name another one in the line \"test:\"",
		},
		{
			"subtest removed", "TestTwice", "TestTwice/a_half",
			"test TestTwice/a_half of package ./twice does not exist: name another one in the line \"test:\"",
		},
		{
			"package removed", "./twice", "./thrice",
			"test TestTwice of package ./thrice does not exist: name another one in the line \"test:\"",
		},
		{"no rule", "Twice doubles its argument.\n\n", "", noHeader},
		{"no package", "package: ./twice\n", "", noHeader},
		{"no test", "test: TestTwice\n", "", noHeader},
		{"no diff", patch[strings.Index(patch, "---"):], "", "has no diff, add one made by diff -u"},
		{
			"no counts", "@@ -10,2 +10,2 @@", "@@",
			"has no diff, add one made by diff -u",
		},
		{
			"counts too large", "-10,2 +10,2", "-10,3 +10,3",
			"is not a unified diff, write it again with diff -u: gitdiff: line 9: fragment header miscounts lines: -1 old, -1 new",
		},
		{
			"counts too small", "-10,2 +10,2", "-10,1 +10,1",
			"has 1 lines that belong to no hunk, correct the counts after the @@",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.ReplaceAll(patch, c.old, c.new)
			mutants, problems := read(root, fstest.MapFS{"p1/x.patch": {Data: []byte(text)}})
			got, want := fmt.Sprint(problems), "[]"
			if c.problem != "" {
				want = "[p1/x.patch: " + c.problem + "]"
			}
			if got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			if (len(mutants) == 1) != (c.problem == "") {
				t.Errorf("%d mutants would be run", len(mutants))
			}
		})
	}
}

const noHeader = "has no complete header: begin it with the rule as one sentence on one line, an empty line, " +
	`"package: ./folder", "test: TestName" and an empty line`

func TestRunAll_SaysWhoNoticed(t *testing.T) {
	for _, c := range []struct{ name, old, new, out, problems, err string }{
		{name: "noticed", out: "p1/x.patch: noticed by TestTwice in "},
		{
			name: "subtest", old: "TestTwice", new: "TestTwice/a_half_of_four",
			out: "p1/x.patch: noticed by TestTwice/a_half_of_four in ",
		},
		{name: "panic", old: "3 * n", new: "2 / (n - n)", out: "p1/x.patch: noticed by TestTwice in "},
		{
			name: "survived", old: "TestTwice", new: "TestNothing",
			problems: "p1/x.patch: survived, because TestNothing of ./twice passes: write a test that notices, " +
				"or name it in the line \"test:\"\n",
			err: "1 of 1 mutants are not noticed",
		},
		{
			name: "not compiled", old: "3 * n", new: "3 * m",
			problems: "p1/x.patch: does not compile, write another patch: twice/twice.go:10:13: undefined: m\n",
			err:      "1 of 1 mutants are not noticed",
		},
		{
			name: "broken", old: "TestTwice", new: "TestThrice",
			problems: "p1/x.patch: test TestThrice of package ./twice does not exist: name another one in the line \"test:\"\n",
			err:      "1 of 1 mutants are not noticed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			patches := folder(t, strings.ReplaceAll(patch, c.old, c.new))
			var out, problems bytes.Buffer
			err := runAll(t.Context(), repository(t), patches, "p1/", log.New(&out, "", 0), log.New(&problems, "", 0))
			if !strings.HasPrefix(out.String(), c.out) {
				t.Errorf("wrote %q, want it to begin with %q", &out, c.out)
			}
			if all := strings.HasSuffix(out.String(), "s\n1 mutants, all noticed\n"); all != (c.err == "") {
				t.Errorf("wrote %q", &out)
			}
			if problems.String() != c.problems {
				t.Errorf("got problem  %q\nwant problem %q", &problems, c.problems)
			}
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("got error %v, want %q", err, c.err)
			}
		})
	}
}

func TestRunAll_EndsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, problems bytes.Buffer
	err := runAll(ctx, repository(t), folder(t, patch), "", log.New(&out, "", 0), log.New(&problems, "", 0))
	if !errors.Is(err, context.Canceled) || out.Len()+problems.Len() > 0 {
		t.Errorf("got error %v and wrote %q and %q, want the context's error and nothing", err, &out, &problems)
	}
}

func TestRunAll_RefusesAPartOfNoPath(t *testing.T) {
	var out bytes.Buffer
	err := runAll(t.Context(), repository(t), folder(t, patch), "p2", log.New(&out, "", 0), log.New(&out, "", 0))
	if err == nil || !strings.HasSuffix(err.Error(), ` has "p2" in its path`) {
		t.Errorf("got error %v", err)
	}
}

// folder returns one that has the patch p1/x.patch.
func folder(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, fstest.MapFS{"p1/x.patch": {Data: []byte(text)}}); err != nil {
		t.Fatal(err)
	}
	return folder
}
