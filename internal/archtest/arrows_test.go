package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

// denied says what a package must not reach, neither itself nor through what it imports, and why.
// Each name covers what lies below it.
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
		"go.uber.org/fx": onlyFxmodule,
	},
	"./internal": {
		"./redlock":   servesAll,
		"./election":  servesAll,
		"./scheduler": servesAll,
	},
}

const (
	onlyPrograms  = "the wiring is for programs, no package builds on it"
	onlyFxmodule  = "only fxmodule knows fx"
	onlyScheduler = "only the scheduler knows schedules"
	servesAll     = "internal packages serve every layer and know none"
)

// testOnly must not be linked into a user's program.
var testOnly = map[string]string{
	"github.com/anishathalye/porcupine": "a tool for tests",
	"testing":                           "it belongs to tests",
	"github.com/alicebob/miniredis":     "a server for tests",
	"go.uber.org/goleak":                "a tool for tests",
	"pgregory.net/rapid":                "a tool for tests",
	"./internal/testkit":                "only tests use it",
	"./redlocktest":                     "nodes and processes for the tests of services",
}

func TestArrows_PointDown(t *testing.T) {
	packages := module(t)
	for from, reasons := range denied {
		subjects := 0
		for name, p := range packages {
			if covers(from, name) && !covers("./internal/testkit", name) {
				subjects++
				reportReached(t, name, p, reasons)
			}
		}
		if subjects == 0 {
			t.Errorf("no package %s: a rule without a subject cannot fail", from)
		}
	}
}

func TestFxmodule_IsReachedByProgramsOnly(t *testing.T) {
	for name, p := range module(t) {
		if covers("./fxmodule", name) || covers("./examples", name) || covers("./integration", name) {
			continue
		}
		reportReached(t, name, p, map[string]string{"./fxmodule": onlyPrograms})
	}
}

func TestLibrary_LinksNoTestCode(t *testing.T) {
	packages := module(t)
	for _, name := range library {
		reportReached(t, name, packages[name], testOnly)
	}
}

func reportReached(t *testing.T, name string, p pkg, reasons map[string]string) {
	t.Helper()
	for to, why := range reasons {
		if slices.ContainsFunc(p.Deps, func(path string) bool { return covers(to, path) }) {
			t.Errorf("%s reaches %s: %s", name, to, why)
		}
	}
}

func covers(name, path string) bool {
	return path == name || strings.HasPrefix(path, name+"/")
}
