package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The SBOM of redlockctl names every module that Go says is in the binary.
func TestWrite_NamesEveryModule(t *testing.T) {
	const version = "v1.2.3-test.1"
	binary := filepath.Join(t.TempDir(), "redlockctl")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = "../../../../cmd/redlockctl"
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var once, again bytes.Buffer
	if err := write(&once, binary, version); err != nil {
		t.Fatal(err)
	}
	if err := write(&again, binary, version); err != nil || !bytes.Equal(again.Bytes(), once.Bytes()) {
		t.Errorf("another time it is another one: %v", err)
	}
	text := once.Bytes()
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	if d.SPDXVersion != "SPDX-2.3" || len(d.Packages) == 0 || d.Packages[0].Checksums[0].Value != sum || d.Packages[0].Version != version {
		t.Errorf("it is not the SBOM of the binary: %s", text)
	}
	versions := map[string]string{}
	for _, p := range d.Packages {
		versions[p.Name] = p.Version
		if p.ExternalRefs[0].Locator != "pkg:golang/"+p.Name+"@"+p.Version {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
	listed, err := exec.CommandContext(t.Context(), "go", "version", "-m", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for line := range strings.Lines(string(listed)) {
		if field := strings.Fields(line); len(field) > 2 && field[0] == "dep" {
			modules++
			want := field[2]
			if field[1] == "github.com/redlockfx/redlockfx" {
				want = version // it was built from its folder
			}
			if versions[field[1]] != want {
				t.Errorf("%s %s is in the binary, the SBOM has %q", field[1], want, versions[field[1]])
			}
		}
	}
	if modules < 5 || len(d.Packages) != modules+2 || len(d.Relationships) != modules+2 || versions["stdlib"] != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("%d modules are in the binary, the SBOM has %v", modules, versions)
	}
}
