package layout_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// library is what users import. What these packages import of this repository ships with them.
var library = []string{"./redlock", "./election", "./scheduler", "./fenced", "./fxmodule", "./dashboard",
	"./adapters/checkin", "./adapters/fencehttp", "./adapters/leadercron", "./adapters/leaderhttp", "./adapters/redlockslog"}

// denied says what a package must not import, neither itself nor through what it imports, and why.
// Each name covers the packages below it.
var denied = map[string]map[string]string{
	"./redlock": {
		"./election":             "redlock is the bottom layer",
		"./scheduler":            "redlock is the bottom layer",
		"go.uber.org/zap":        "redlock returns errors and calls hooks, it does not log",
		"go.uber.org/fx":         onlyFxmodule,
		"github.com/robfig/cron": onlyScheduler,
	},
	"./election": {
		"./scheduler":            "the scheduler is built on the election, not the other way round",
		"go.uber.org/fx":         onlyFxmodule,
		"github.com/robfig/cron": onlyScheduler,
	},
	"./scheduler": {
		"./fenced":       "what is fenced builds on the scheduler, not the other way round",
		"./internal/ops": "it shows what the scheduler knows, not the other way round",
		"go.uber.org/fx": onlyFxmodule,
	},
	"./fenced": {
		"go.uber.org/fx": onlyFxmodule,
		"./fxmodule":     onlyPrograms,
	},
	"./internal": {
		"./redlock":   servesAll,
		"./election":  servesAll,
		"./scheduler": servesAll,
	},
}

// above are internal packages that serve those who use the library's public packages, and may import them.
var above = []string{"./internal/testkit", "./internal/conformance", "./internal/ops"}

const (
	onlyPrograms  = "the wiring is for programs, no package builds on it"
	onlyFxmodule  = "only fxmodule imports fx"
	onlyScheduler = "only the scheduler parses schedules"
	servesAll     = "internal packages serve every layer and import none"
)

// testOnly must not be linked into a user's program.
var testOnly = map[string]string{
	"github.com/anishathalye/porcupine": "a tool for tests",
	"testing":                           "it belongs to tests",
	"github.com/alicebob/miniredis":     "a server for tests",
	"go.uber.org/goleak":                "a tool for tests",
	"pgregory.net/rapid":                "a tool for tests",
	"./internal/testkit":                "only tests use it",
	"./internal/conformance":            "only tests use it",
	"./redlocktest":                     "nodes and processes for the tests of services",
}

func TestImports_PointDown(t *testing.T) {
	all := load(t)
	for from, reasons := range denied {
		subjects := 0
		for name, p := range all {
			if covers(from, name) && !slices.ContainsFunc(above, func(p string) bool { return covers(p, name) }) {
				subjects++
				reportImported(t, p, reasons)
			}
		}
		if subjects == 0 {
			t.Errorf("no package %s: a rule without a subject cannot fail", from)
		}
	}
}

func TestFxmodule_IsImportedByProgramsOnly(t *testing.T) {
	for name, p := range load(t) {
		if !covers("./fxmodule", name) && !covers("./examples", name) {
			reportImported(t, p, map[string]string{"./fxmodule": onlyPrograms})
		}
	}
}

func TestLibrary_LinksNoTestCode(t *testing.T) {
	all := load(t)
	for _, name := range library {
		if all[name] == nil {
			t.Errorf("no package %s", name)
			continue
		}
		reportImported(t, all[name], testOnly)
	}
}

// reportImported fails the test for each name in reasons that p imports, itself or through others.
func reportImported(t *testing.T, p *packages.Package, reasons map[string]string) {
	t.Helper()
	for name, why := range reasons {
		for imported := range packages.Postorder([]*packages.Package{p}) {
			if covers(name, short(imported.PkgPath)) {
				t.Errorf("%s imports %s, itself or through others: %s", short(p.PkgPath), name, why)
				break
			}
		}
	}
}

// load returns the packages of the library's module by name, without their tests. It ends the test if a package
// cannot be loaded: a package that is not seen breaks no rule.
func load(t *testing.T) map[string]*packages.Package {
	t.Helper()
	all, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var loadOnce = sync.OnceValues(func() (map[string]*packages.Package, error) {
	config := &packages.Config{Dir: root, Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps}
	found, err := packages.Load(config, "./...")
	if err != nil {
		return nil, err
	}
	var problems []error
	for p := range packages.Postorder(found) {
		for _, problem := range p.Errors {
			problems = append(problems, fmt.Errorf("%s: %w", short(p.PkgPath), problem))
		}
	}
	all := map[string]*packages.Package{}
	for _, p := range found {
		all[short(p.PkgPath)] = p
	}
	return all, errors.Join(problems...)
})

func short(path string) string {
	if rest, ours := strings.CutPrefix(path, "github.com/redlockfx/redlockfx"); ours {
		return "." + rest
	}
	return path
}

func covers(name, path string) bool {
	return path == name || strings.HasPrefix(path, name+"/")
}
