package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// A mutant is one way to break the code.
type mutant struct {
	path  string // of its patch
	pkg   string // the folder of the package whose test must fail, from the root of the repository
	test  string
	files []*gitdiff.File
}

var header = regexp.MustCompile(`^\S.*\.\n\npackage: \./(\S+)\ntest: (Test\S+)\n\n$`)

// read returns the mutants that can be run, and an error for each other patch.
func read(root string, patches fs.FS) (mutants []mutant, problems []error) {
	c := checker{root: root, known: map[string]names{}}
	err := fs.WalkDir(patches, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".patch" {
			return err
		}
		text, err := fs.ReadFile(patches, file)
		if err != nil {
			return err
		}
		m, err := parse(file, string(text))
		if err == nil {
			err = c.check(m)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
			return nil
		}
		mutants = append(mutants, m)
		return nil
	})
	if err != nil {
		problems = append(problems, err)
	}
	return mutants, problems
}

func parse(file, text string) (mutant, error) {
	files, above, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return mutant{}, fmt.Errorf("is not a unified diff, write it again with diff -u: %w", err)
	}
	for _, f := range files {
		f.OldName = strings.TrimPrefix(f.OldName, "b/")
		f.NewName = strings.TrimPrefix(f.NewName, "b/")
	}
	if len(files) == 0 {
		return mutant{}, errors.New("has no diff, add one made by diff -u")
	}
	parts := header.FindStringSubmatch(above)
	if parts == nil {
		return mutant{}, errors.New("has no complete header: begin it with the rule as one sentence on one line, " +
			`an empty line, "package: ./folder", "test: TestName" and an empty line`)
	}
	if left := countLines(text[len(above):]) - countRead(files); left != 0 {
		return mutant{}, fmt.Errorf("has %d lines that belong to no hunk, correct the counts after the @@", left)
	}
	return mutant{path: file, pkg: parts[1], test: parts[2], files: files}, nil
}

// countLines counts the lines of a diff that belong to a hunk, or name a file.
func countLines(diff string) (n int) {
	for line := range strings.Lines(diff) {
		if strings.Contains("+- \n", line[:1]) {
			n++
		}
	}
	return n
}

// countRead counts the same lines, but only those that gitdiff understood. gitdiff skips lines after a complete hunk.
func countRead(files []*gitdiff.File) (n int) {
	for _, f := range files {
		n += len("-+")
		for _, hunk := range f.TextFragments {
			n += len(hunk.Lines)
		}
	}
	return n
}
