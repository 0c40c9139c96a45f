package docs_test

import (
	"errors"
	"fmt"
	"go/types"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// public are the packages whose names the pages are checked for.
var public = append([]string{"./redlocktest", "./fenced", "./adapters/leadercron", "./adapters/leaderhttp", "./adapters/slogcore",
	"./adapters/redlockslog"},
	logging...)

// sources returns the public packages by folder, parsed and type-checked.
func sources(t *testing.T) map[string]*packages.Package {
	t.Helper()
	all, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var loadOnce = sync.OnceValues(func() (map[string]*packages.Package, error) {
	found, err := packages.Load(&packages.Config{
		Dir: root, Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes,
	}, public...)
	if err != nil {
		return nil, err
	}
	all := map[string]*packages.Package{}
	var problems []error
	for _, p := range found {
		for _, problem := range p.Errors {
			problems = append(problems, problem)
		}
		all["."+strings.TrimPrefix(p.PkgPath, "github.com/redlockfx/redlockfx")] = p
	}
	for _, folder := range public {
		if all[folder] == nil {
			problems = append(problems, fmt.Errorf("no package %s", folder))
		}
	}
	return all, errors.Join(problems...)
})

// has tells whether a package exports what path leads to: a name, and members of it.
func has(p *packages.Package, path []string) bool {
	object := p.Types.Scope().Lookup(path[0])
	for _, member := range path[1:] {
		if object != nil {
			object, _, _ = types.LookupFieldOrMethod(object.Type(), true, p.Types, member)
		}
	}
	return object != nil && object.Exported()
}
