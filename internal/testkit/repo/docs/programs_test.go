package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A block that does not begin with a package clause is a piece of a program. The package that it is from compares it
// with code that is compiled.
func TestPrograms_CompileAndTestsPass(t *testing.T) {
	programs := 0
	for _, p := range pages(t) {
		for c := range p.code() {
			if c.language != "go" || !strings.HasPrefix(c.text, "package ") {
				continue
			}
			programs++
			t.Run(p.at(c.line), func(t *testing.T) {
				name, verb := "main.go", "vet"
				if strings.Contains(c.text, "\nfunc Test") {
					name, verb = "main_test.go", "test"
				}
				// The file is outside the repository, so that it cannot import internal packages.
				file := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), "go", verb, file)
				cmd.Dir = root
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	if programs < 4 {
		t.Errorf("only %d programs were found", programs)
	}
}
