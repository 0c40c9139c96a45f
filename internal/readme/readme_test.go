// Package readme keeps the README true: every Go block in it compiles.
package readme_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var block = regexp.MustCompile("(?s)\n```go\n(.*?)\n```\n")

func TestREADME_EveryGoBlockCompiles(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllSubmatch(text, -1)
	if len(blocks) < 4 {
		t.Fatalf("only %d blocks found", len(blocks))
	}
	for i, b := range blocks {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, b[1], 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
