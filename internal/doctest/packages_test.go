package doctest_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	// What the docs speak of: a cached result of these tests counts until one of them changes.
	_ "github.com/redlockfx/redlockfx/election"
	_ "github.com/redlockfx/redlockfx/fxmodule"
	_ "github.com/redlockfx/redlockfx/redlock"
	_ "github.com/redlockfx/redlockfx/redlocktest"
	_ "github.com/redlockfx/redlockfx/scheduler"

	"github.com/redlockfx/redlockfx/internal/golist"
)

const root = "../.."

var (
	shipped = []string{"redlock", "election", "scheduler", "fxmodule", "dashboard"}
	public  = append(slices.Clone(shipped), "redlocktest")
)

// source is one type-checked package.
type source struct {
	*types.Package
	files []*ast.File
	info  *types.Info
	set   *token.FileSet
}

// sources are the public packages by folder, or the end of the test.
func sources(t *testing.T) map[string]source {
	t.Helper()
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var load = sync.OnceValues(func() (map[string]source, error) {
	args := []string{"-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, folder := range public {
		args = append(args, "./"+folder)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	found, err := golist.Packages[listed](root, args...)
	if err != nil {
		return nil, err
	}
	packages := map[string]listed{}
	for _, p := range found {
		packages[p.ImportPath] = p
	}

	set := token.NewFileSet()
	exported := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[path].Export)
	})
	all := map[string]source{}
	for _, folder := range public {
		p := packages["github.com/redlockfx/redlockfx/"+folder]
		s := source{set: set, info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			s.files = append(s.files, file)
		}
		config := types.Config{Importer: exported}
		if s.Package, err = config.Check(p.ImportPath, set, s.files, s.info); err != nil {
			return nil, err
		}
		all[folder] = s
	}
	return all, nil
})

// find tells whether a package, or with an empty qualifier any of them, has what path leads to: an
// exported name, and members of it.
func find(all map[string]source, qualifier string, path []string) bool {
	for _, s := range all {
		if qualifier != "" && s.Name() != qualifier {
			continue
		}
		object := s.Scope().Lookup(path[0])
		for _, member := range path[1:] {
			if object != nil {
				object, _, _ = types.LookupFieldOrMethod(object.Type(), true, s.Package, member)
			}
		}
		if object != nil && object.Exported() {
			return true
		}
	}
	return false
}

func isQualifier(all map[string]source, name string) bool {
	for _, s := range all {
		if s.Name() == name {
			return true
		}
	}
	return false
}

// at is a place in the docs or the sources for people.
func at(file string, line int) string {
	return fmt.Sprintf("%s:%d", strings.TrimPrefix(file, root+"/"), line)
}
