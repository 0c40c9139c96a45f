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

// The release of this platform has an SBOM that names every module that Go says is in the binary.
func TestRelease_HasAnSBOM(t *testing.T) {
	out := t.TempDir()
	const version = "v1.2.3-test.1"
	release := exec.CommandContext(t.Context(), "bash", "../../../../scripts/release.sh", version, out, runtime.GOOS+"/"+runtime.GOARCH)
	if said, err := release.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	binary := filepath.Join(out, fmt.Sprintf("redlockctl_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH))
	text, err := os.ReadFile(binary + ".spdx.json")
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), binary, "--version").Output(); err != nil || string(said) != "redlockctl version "+version+"\n" {
		t.Errorf("it says %q, %v", said, err)
	}
	var again bytes.Buffer
	if err := write(&again, binary, version); err != nil || !bytes.Equal(again.Bytes(), text) {
		t.Errorf("another time it is another one: %v", err)
	}
	text = again.Bytes()
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
				want = version // it was replaced by its folder
			}
			if versions[field[1]] != want {
				t.Errorf("%s %s is in the binary, the SBOM has %q", field[1], want, versions[field[1]])
			}
		}
	}
	if modules < 5 || len(d.Packages) != modules+2 || len(d.Relationships) != modules+2 || versions["stdlib"] != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("%d modules are in the binary, the SBOM has %v", modules, versions)
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil || !bytes.Contains(sums, []byte(sum+"  "+filepath.Base(binary))) || bytes.Count(sums, []byte("\n")) != 2 {
		t.Errorf("%v, checksums: %s", err, sums)
	}
}

func TestRelease_RefusesWhatIsNoVersion(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1", "v1.2.3/../x"} {
		release := exec.CommandContext(t.Context(), "bash", "../../../../scripts/release.sh", version, t.TempDir())
		if said, err := release.CombinedOutput(); err == nil || !strings.Contains(string(said), "VERSION must be") {
			t.Errorf("%q: %v, %s", version, err, said)
		}
	}
}
