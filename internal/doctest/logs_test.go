package doctest_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

func TestLogs_AreAllInTheTable(t *testing.T) {
	logged, written := levels{}, table(t)
	all := sources(t)
	for _, folder := range shipped {
		logged.collect(t, folder, all[folder])
	}
	if len(logged) < 20 {
		t.Errorf("only %d messages were found", len(logged))
	}
	for message := range logged {
		if was, is := written.of(message), logged.of(message); was != is {
			t.Errorf("docs/operations.md: the table has level %q for %q, which is logged as %q", was, message, is)
		}
	}
	for message := range written {
		if logged[message] == nil {
			t.Errorf("docs/operations.md: nothing logs %q", message)
		}
	}
}

// table reads the page's table of messages: those whose first two columns are message and level.
func table(t *testing.T) levels {
	t.Helper()
	found := levels{}
	for _, text := range read(t, filepath.Join(root, "docs/operations.md")).prose {
		lines := strings.Split(strings.TrimSpace(text.text), "\n")
		if !strings.HasPrefix(lines[0], "| message | level |") || len(lines) < 2 {
			continue
		}
		for i, line := range lines[2:] {
			cells := strings.Split(line, "|")
			if len(cells) < 3 || span.FindStringSubmatch(cells[1]) == nil {
				t.Fatalf("%s: a row without a message and its level", at("docs/operations.md", text.line+2+i))
			}
			message := span.FindStringSubmatch(cells[1])[1]
			if found[message] != nil {
				t.Errorf("docs/operations.md: %q is in the table twice", message)
			}
			for level := range strings.SplitSeq(cells[2], ",") {
				found.add(message, strings.TrimSpace(level))
			}
		}
	}
	return found
}

// collect adds what a package logs. A call whose message cannot be told is an error, not passed over.
func (l levels) collect(t *testing.T, folder string, s source) {
	t.Helper()
	for _, file := range s.files {
		for node := range ast.Preorder(file) {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				continue
			}
			called, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || s.info.Selections[called] == nil ||
				!strings.HasPrefix(s.info.Selections[called].Recv().String(), "*go.uber.org/zap.") {
				continue
			}
			place := s.set.Position(call.Pos())
			where := at(filepath.Join(folder, filepath.Base(place.Filename)), place.Line)
			switch name := called.Sel.Name; name {
			case "With", "Named":
			case "Debug", "Info", "Warn", "Error":
				messages := s.values(call.Args[0])
				if len(messages) == 0 {
					t.Errorf("%s: it cannot be told what is logged", where)
				}
				for _, message := range messages {
					l.add(message, strings.ToLower(name))
				}
			default:
				t.Errorf("%s: it cannot be told what %s logs", where, name)
			}
		}
	}
}

// values are the strings that an expression may have: a constant, or a variable or parameter that only
// constants are given to. None: there are others.
func (s source) values(e ast.Expr) []string {
	if v := s.info.Types[e].Value; v != nil {
		return []string{constant.StringVal(v)}
	}
	name, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	var all []string
	for _, given := range s.given(s.info.Uses[name]) {
		values := s.values(given)
		if len(values) == 0 {
			return nil
		}
		all = append(all, values...)
	}
	return all
}

// given is what the package assigns to a variable, or passes for a parameter.
func (s source) given(to types.Object) []ast.Expr {
	var all []ast.Expr
	for _, file := range s.files {
		for node := range ast.Preorder(file) {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for i, left := range node.Lhs {
					name, ok := left.(*ast.Ident)
					if ok && len(node.Lhs) == len(node.Rhs) && node.Tok != token.ADD_ASSIGN &&
						(s.info.Defs[name] == to || s.info.Uses[name] == to) {
						all = append(all, node.Rhs[i])
					}
				}
			case *ast.CallExpr:
				signature, ok := s.callee(node)
				for i := range node.Args {
					if ok && i < signature.Params().Len() && signature.Params().At(i) == to {
						all = append(all, node.Args[i])
					}
				}
			}
		}
	}
	return all
}

func (s source) callee(call *ast.CallExpr) (*types.Signature, bool) {
	var name *ast.Ident
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	default:
		return nil, false
	}
	f, ok := s.info.Uses[name].(*types.Func)
	if !ok {
		return nil, false
	}
	return f.Signature(), true
}
