package doctest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Pieces of programs, which begin otherwise, are compared with code that is compiled where they are from.
func TestPrograms_CompileAndTestsPass(t *testing.T) {
	programs := 0
	for _, p := range pages(t) {
		for _, c := range p.code {
			if c.lang != "go" || !strings.HasPrefix(c.text, "package ") {
				continue
			}
			programs++
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(p.path), c.line), func(t *testing.T) {
				name, command := "main.go", "vet"
				if strings.Contains(c.text, "\nfunc Test") {
					name, command = "main_test.go", "test"
				}
				file := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.CommandContext(t.Context(), "go", command, file).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	if programs < 4 {
		t.Errorf("only %d programs found", programs)
	}
}
