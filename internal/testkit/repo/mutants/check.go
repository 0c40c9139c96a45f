package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// conformance is the package with the names of the tests that both kinds of nodes must pass.
const conformance = "internal/conformance"

// A checker finds mutants that show nothing, without running them.
type checker struct {
	root  string
	known map[string]names // by the pattern of their files
}

// names are the possible names of tests and subtests: the functions in some files, the strings there as the testing
// package writes them, and those of the strings that are the Name of something.
type names struct{ functions, texts, cases map[string]bool }

// check returns an error if the patch does not fit the code or names a test that does not exist.
func (c *checker) check(m mutant) error {
	changed, err := m.apply(c.root)
	if err != nil {
		return err
	}
	for file, text := range changed {
		if path.Ext(file) != ".go" {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
			return fmt.Errorf("does not compile, write another patch: %s", firstLine(err.Error()))
		}
	}

	exists, err := c.hasTest(m.pkg, m.test)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("test %s of package ./%s does not exist: name another one in the line \"test:\"", m.test, m.pkg)
	}
	return nil
}

// nodes matches what the conformance suite appends to the names of its cases.
var nodes = regexp.MustCompile(`,_\d+_nodes$`)

func (c *checker) hasTest(pkg, test string) (bool, error) {
	tests, err := c.names(pkg, "*_test.go")
	if err != nil {
		return false, err
	}
	sentences, err := c.names(conformance, "*.go")
	if err != nil {
		return false, err
	}
	top, sub, isSub := strings.Cut(nodes.ReplaceAllString(test, ""), "/")
	exists := tests.functions[top]
	if isSub {
		for part := range strings.SplitSeq(sub, "/") {
			exists = exists && (tests.texts[part] || sentences.cases[part])
		}
	}
	return exists, nil
}

func (c *checker) names(folder, pattern string) (names, error) {
	pattern = filepath.Join(c.root, folder, pattern)
	if known, ok := c.known[pattern]; ok {
		return known, nil
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		return names{}, err
	}
	found := names{functions: map[string]bool{}, texts: map[string]bool{}, cases: map[string]bool{}}
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return names{}, err
		}
		found.collect(syntax)
	}
	c.known[pattern] = found
	return found, nil
}

func (n names) collect(file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			if node.Recv == nil {
				n.functions[node.Name.Name] = true
			}
		case *ast.KeyValueExpr:
			if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Name" {
				add(n.cases, node.Value)
			}
		case *ast.BasicLit:
			add(n.texts, node)
		}
		return true
	})
}

// add adds the parts of a string literal.
func add(to map[string]bool, e ast.Expr) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	if text, err := strconv.Unquote(literal.Value); err == nil {
		for part := range strings.SplitSeq(strings.ReplaceAll(text, " ", "_"), "/") {
			to[part] = true
		}
	}
}
