package archtest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goroutines declares each start of a goroutine in what ships: a go statement, or a call of
// something named Go or AfterFunc. By package: the function it stands in (T.f for a method), and
// who stops it and waits for it. A function with two is listed twice.
var goroutines = map[string][]start{
	"./internal/clock": {
		{"Clock.lookLaterLocked", "the look for sleep: takes a mutex only, none while no timer is armed"},
		{"Timer.Reset", "a timer's own: stopped by Stop, and its fn belongs to whoever armed it"},
	},
	"./internal/quorum": {
		{"Quorum.AskFirst", "asks the other nodes: stopped when AskFirst returns, never blocks"},
		{"node.enqueue", "a node's worker: ends with the node's queue, Quorum.Idle and Close wait"},
	},
	"./redlock": {
		{"Locker.start", "work in the background: ends soon after closing, Locker.Close waits"},
		{"Locker.awaitWork", "the wait for that work: ends with it, awaitWork itself waits"},
		{"renewer.sleep", "the timer of what is due next: stopped when sleep returns"},
		{"subscriber.run", "ends the receiving: closes the subscription when the Locker closes"},
		{"subscriber.run", "the receiving: ends when the subscription is closed, run waits"},
		{"Lease.Context", "the timer of the deadline: stopped by the end of the lease, takes a mutex only"},
		{"Locker.Do", "hands the end of the lease to fn's context: stopped when fn returns"},
	},
	"./election": {
		{"Elector.startLocked", "a callback: told by the term's contexts, waited for in drain and await"},
		{"newTerm", "the stop timer: takes a mutex and ends contexts only"},
		{"newTerm", "ends the term with its lease: stopped when the term is over"},
		{"newTerm", "stops both when the term is over"},
		{"Elector.Run", "hands the end of Run's context on: stopped when Run returns"},
		{"Elector.Run", "calls the hook that observes: Run stops it and waits"},
		{"Elector.Observe", "ends with its context, and closes the channel then"},
		{"Elector.Shutdown", "the timer that cuts draining short: stopped when Shutdown returns"},
		{"Elector.lead", "hands a request to stop to the term: stopped when the term is over"},
	},
	"./internal/register": {
		{"Register.Promise", "a batch: over by the node timeout, a few times, Promise waits"},
		{"Register.admit", "a node's admission: over by the node timeout, for each batch, admit waits"},
		{"Register.admitAt", "reads one job: over by the node timeout, admitAt waits"},
	},
	"./scheduler": {
		{"loop.startLocked", "a run: told by its context, lead waits for it"},
		{"loop.hold", "takes the lease of a long run: told when the run returns, do waits for it"},
		{"loop.step", "writes that a run was lost: bounded, lead waits for it"},
		{"loop.step", "writes that a tick is left out: bounded, lead waits for it"},
		{"loop.step", "asks for what is due: over by the node timeout, lead waits for it"},
		{"loop.write", "writes the ends of runs: over when none waits, each call by the node timeout, lead waits for it"},
		{"loop.complete", "a promise of nodes that were away: a few node timeouts, lead waits for it"},
		{"loop.decided", "writes what has become of a claim: bounded, lead waits for it"},
		{"loop.read", "reads one job: over by the node timeout, read waits"},
		{"loop.decided", "a pause before a claim is asked again: bounded, ends with draining, lead waits for it"},
		{"Scheduler.Jobs", "reads one job: over by the node timeout, Jobs waits"},
	},
	"./fxmodule": {
		{"module.start", "Run of the elector: stopped and waited for by stop"},
	},
}

type start struct{ in, owner string }

func TestGoroutines_AreDeclared(t *testing.T) {
	packages := module(t)
	for name := range goroutines {
		if !slices.Contains(shipped(packages), name) {
			t.Errorf("%s is declared to start goroutines, but does not ship", name)
		}
	}
	for _, name := range shipped(packages) {
		found := starts(t, packages[name])
		for _, declared := range goroutines[name] {
			if len(found[declared.in]) == 0 {
				t.Errorf("%s: %s starts fewer goroutines than declared: %s",
					name, declared.in, declared.owner)
				continue
			}
			found[declared.in] = found[declared.in][1:]
		}
		for function, places := range found {
			if len(places) > 0 {
				t.Errorf("%s: %s starts a goroutine that is not declared here: %s",
					name, function, places)
			}
		}
	}
}

// shipped is the library and what it reaches of this module.
func shipped(packages map[string]pkg) []string {
	names := slices.Clone(library)
	for _, name := range library {
		for _, path := range packages[name].Deps {
			if _, ours := packages[path]; ours {
				names = append(names, path)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// starts finds the places where p starts goroutines, by function.
func starts(t *testing.T, p pkg) map[string][]string {
	t.Helper()
	places := map[string][]string{}
	for _, path := range p.files() {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			in := functionName(decl)
			for node := range ast.Preorder(decl) {
				if startsGoroutine(node) {
					line := set.Position(node.Pos()).Line
					places[in] = append(places[in], fmt.Sprintf("%s:%d", filepath.Base(path), line))
				}
			}
		}
	}
	return places
}

func startsGoroutine(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		called, ok := node.Fun.(*ast.SelectorExpr)
		return ok && (called.Sel.Name == "Go" || called.Sel.Name == "AfterFunc")
	}
	return false
}

func functionName(decl ast.Decl) string {
	f, ok := decl.(*ast.FuncDecl)
	switch {
	case !ok:
		return "var"
	case f.Recv == nil:
		return f.Name.Name
	default:
		return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
	}
}
