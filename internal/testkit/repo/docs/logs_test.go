package docs_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	markdown "github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// levels has the levels at which each message is logged.
type levels map[string]map[string]bool

func (l levels) add(message, level string) {
	if l[message] == nil {
		l[message] = map[string]bool{}
	}
	l[message][level] = true
}

func (l levels) of(message string) string {
	return strings.Join(slices.Sorted(maps.Keys(l[message])), ", ")
}

func TestLogs_AreAllInTheTables(t *testing.T) {
	logged, written := levels{}, listed(t)
	all := sources(t)
	for _, folder := range logging {
		logged.collect(t, all[folder])
	}
	if len(logged) < 20 {
		t.Errorf("only %d messages were found", len(logged))
	}
	for message := range logged {
		if was, is := written.of(message), logged.of(message); was != is {
			t.Errorf("docs/operations.md: the table says level %q for %q, which is logged as %q", was, message, is)
		}
	}
	for message := range written {
		if logged[message] == nil {
			t.Errorf("docs/operations.md: nothing logs %q", message)
		}
	}
}

// listed reads the tables of messages in docs/operations.md: those whose first two columns are message and level.
func listed(t *testing.T) levels {
	t.Helper()
	found := levels{}
	p := pages(t)["docs/operations.md"]
	for n := range p.nodes() {
		row, ok := n.(*table.TableRow)
		if !ok {
			continue
		}
		head := row.Parent().FirstChild().FirstChild()
		if p.plain(head) != "message" || p.plain(head.NextSibling()) != "level" {
			continue
		}
		cell := row.FirstChild()
		message := p.plain(cell)
		if _, span := cell.FirstChild().(*markdown.CodeSpan); !span {
			t.Errorf("%s: a row that does not begin with a message", p.at(p.line(row.Pos())))
		}
		if found[message] != nil {
			t.Errorf("%s: %q is listed twice", p.at(p.line(row.Pos())), message)
		}
		for level := range strings.SplitSeq(p.plain(cell.NextSibling()), ",") {
			found.add(message, strings.TrimSpace(level))
		}
	}
	return found
}

// collect adds what a package logs. It fails the test for a call whose message it cannot determine.
func (l levels) collect(t *testing.T, p *packages.Package) {
	t.Helper()
	for call := range calls(p) {
		f := typeutil.StaticCallee(p.TypesInfo, call)
		if f == nil || f.Signature().Recv() == nil ||
			!strings.HasPrefix(f.Signature().Recv().Type().String(), "*go.uber.org/zap.") {
			continue
		}
		place := p.Fset.Position(call.Pos())
		where := fmt.Sprintf("%s/%s:%d", p.PkgPath, filepath.Base(place.Filename), place.Line)
		switch f.Name() {
		case "With", "WithOptions", "Named", "Core":
		case "Debug", "Info", "Warn", "Error":
			messages := values(p, call.Args[0])
			if len(messages) == 0 {
				t.Errorf("%s: cannot determine the message", where)
			}
			for _, message := range messages {
				l.add(message, strings.ToLower(f.Name()))
			}
		default:
			t.Errorf("%s: cannot determine what %s logs", where, f.Name())
		}
	}
}

// values returns the strings that an expression may have: a constant, or a variable or parameter that only
// constants are given to. It returns none if there may be others.
func values(p *packages.Package, e ast.Expr) []string {
	if v := p.TypesInfo.Types[e].Value; v != nil {
		return []string{constant.StringVal(v)}
	}
	name, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	var all []string
	for _, expr := range given(p, p.TypesInfo.Uses[name]) {
		possible := values(p, expr)
		if len(possible) == 0 {
			return nil
		}
		all = append(all, possible...)
	}
	return all
}

// given returns what the package assigns to a variable, or passes for a parameter.
func given(p *packages.Package, to types.Object) []ast.Expr {
	var all []ast.Expr
	for call := range calls(p) {
		f := typeutil.StaticCallee(p.TypesInfo, call)
		for i, arg := range call.Args {
			if f != nil && i < f.Signature().Params().Len() && f.Signature().Params().At(i) == to {
				all = append(all, arg)
			}
		}
	}
	for _, file := range p.Syntax {
		for node := range ast.Preorder(file) {
			assign, ok := node.(*ast.AssignStmt)
			if !ok || len(assign.Lhs) != len(assign.Rhs) || assign.Tok == token.ADD_ASSIGN {
				continue
			}
			for i, left := range assign.Lhs {
				if name, ok := left.(*ast.Ident); ok && p.TypesInfo.ObjectOf(name) == to {
					all = append(all, assign.Rhs[i])
				}
			}
		}
	}
	return all
}

func calls(p *packages.Package) iter.Seq[*ast.CallExpr] {
	return func(yield func(*ast.CallExpr) bool) {
		for _, file := range p.Syntax {
			for node := range ast.Preorder(file) {
				if call, ok := node.(*ast.CallExpr); ok && !yield(call) {
					return
				}
			}
		}
	}
}
