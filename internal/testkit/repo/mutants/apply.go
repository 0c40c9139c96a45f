package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// apply returns what the patch makes of each file that it changes, by their paths from the root.
func (m mutant) apply(root string) (map[string][]byte, error) {
	changed := map[string][]byte{}
	for _, f := range m.files {
		text, err := os.ReadFile(filepath.Join(root, f.OldName))
		if err != nil {
			return nil, fmt.Errorf("does not apply: there is no file %s, write the patch for the present code", f.OldName)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i, hunk := range f.TextFragments {
			if err := place(hunk, lines); err != nil {
				return nil, fmt.Errorf("does not apply: hunk %d of %s %w", i+1, f.OldName, err)
			}
		}
		var mutated bytes.Buffer
		if err := gitdiff.Apply(&mutated, bytes.NewReader(text), f); err != nil {
			return nil, fmt.Errorf("does not apply: %s: %w", f.OldName, err)
		}
		changed[f.OldName] = mutated.Bytes()
	}
	return changed, nil
}

// place moves the hunk to the only place in the file where its old lines are.
func place(hunk *gitdiff.TextFragment, lines []string) error {
	var old []string
	for _, line := range hunk.Lines {
		if line.Old() {
			old = append(old, line.Line)
		}
	}
	var places []int
	for i := range len(lines) - len(old) + 1 {
		if slices.Equal(lines[i:i+len(old)], old) {
			places = append(places, i+1)
		}
	}
	switch len(places) {
	case 0:
		return errors.New("fits nowhere, write the patch for the present code")
	case 1:
		hunk.OldPosition = int64(places[0])
		return nil
	default:
		return fmt.Errorf("fits at lines %d and %d, add lines of context", places[0], places[1])
	}
}
