// Command sbom writes the SBOM of a Go binary, in SPDX 2.3 as JSON. It lists the modules that are linked into the
// binary, and the version of Go, as the linker recorded them.
//
//	go run ./scripts/sbom -version v1.2.3 BINARY
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "of the binary, and of modules that were built from a folder")
	flag.Parse()
	if flag.NArg() != 1 || *version == "" {
		log.Fatal("usage: sbom -version VERSION BINARY")
	}
	if err := write(os.Stdout, flag.Arg(0), *version); err != nil {
		log.Fatalf("sbom: %v", err)
	}
}

type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	ID                string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creationInfo   `json:"creationInfo"`
	Packages          []module       `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type module struct {
	Name             string        `json:"name"`
	ID               string        `json:"SPDXID"`
	Version          string        `json:"versionInfo"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	Checksums        []checksum    `json:"checksums,omitempty"`
	Comment          string        `json:"comment,omitempty"` // the checksum in go.sum, which is not the checksum of a file
	ExternalRefs     []externalRef `json:"externalRefs"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// write writes the SBOM of the binary. The SBOM depends only on the binary and the version.
func write(w io.Writer, binary, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum, name := fmt.Sprintf("%x", sha256.Sum256(content)), filepath.Base(binary)
	main := newModule(0, info.Main.Path, version, "")
	main.Checksums = []checksum{{"SHA256", sum}}
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		DocumentNamespace: fmt.Sprintf("https://%s/spdx/%s-%s", info.Main.Path, name, sum),
		CreationInfo:      creationInfo{created(info), []string{"Tool: " + info.Main.Path + "-sbom"}},
		Packages:          []module{main, newModule(1, "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")},
		Relationships:     []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	for _, dep := range info.Deps {
		used := cmp.Or(dep.Replace, dep)
		if used.Version == "(devel)" || used.Version == "" { // a folder of this repository, used by a go.work or a replace directive
			used = &debug.Module{Path: dep.Path, Version: version}
		}
		d.Packages = append(d.Packages, newModule(len(d.Packages), used.Path, used.Version, used.Sum))
	}
	for _, p := range d.Packages[1:] {
		d.Relationships = append(d.Relationships, relationship{main.ID, "DEPENDS_ON", p.ID})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(d)
}

func newModule(number int, path, version, sum string) module {
	return module{
		Name: path, ID: fmt.Sprintf("SPDXRef-%d", number), Version: version, DownloadLocation: "NOASSERTION", Comment: sum,
		ExternalRefs: []externalRef{{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:golang/%s@%s", path, version)}},
	}
}

// created returns the time of the commit, so that the same binary always has the same SBOM.
func created(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			return s.Value
		}
	}
	return time.Unix(0, 0).UTC().Format(time.RFC3339)
}
