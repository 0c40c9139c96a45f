package redlockfx

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// inspect reports missing dependencies that fx does not report. fx leaves an optional parameter empty if nothing
// provides it, and also, without an error, if its constructor lacks a dependency.
func (t target) inspect(
	dot fx.DotGraph, config Config, log *zap.Logger, terms election.Hooks, jobs scheduler.Hooks,
) error {
	g := readGraph(string(dot))
	key, forName := reflect.TypeFor[Config]().String(), ""
	if t.name != "" {
		key, forName = fmt.Sprintf("%s[name=%s]", key, t.name), fmt.Sprintf(", redlockfx.For(%q)", t.name)
	}
	if reflect.ValueOf(config).IsZero() && len(g.providers[key]) == 0 && len(g.providers["*"+key]) > 0 {
		return fmt.Errorf("redlockfx: the application provides a *redlockfx.Config, but %s takes a redlockfx.Config: provide it "+
			"without the &", t.option())
	}
	if reflect.ValueOf(config).IsZero() && len(g.providers[key]) == 0 {
		return fmt.Errorf("redlockfx: there is no Config for %s: add redlockfx.Settings(func() redlockfx.Config { ... }%s)",
			t.option(), forName)
	}
	for _, v := range []reflect.Value{reflect.ValueOf(log), reflect.ValueOf(terms), reflect.ValueOf(jobs)} {
		if missing := g.missing(v.Type().String(), nil); v.IsZero() && missing != "" {
			return fmt.Errorf("redlockfx: the application provides a %v to %s, but not the %s that is needed to build it",
				v.Type(), t.option(), missing)
		}
	}
	return nil
}

// graph is the dependency graph of the application: which constructor provides a type, and which types each
// constructor needs.
type graph struct {
	providers map[string][]string // by type: the numbers of its constructors
	needs     map[string][]string // by constructor: the types that it needs and are not optional
}

var (
	dotConstructor = regexp.MustCompile(`^constructor_(\d+) \[shape`)
	dotResult      = regexp.MustCompile(`^"(.*)" \[label=`)
	dotNeed        = regexp.MustCompile(`^constructor_(\d+) -> "(.*)" \[ltail=\S+\];$`)
)

// readGraph parses a graph in the DOT language as fx writes it.
func readGraph(dot string) graph {
	g := graph{make(map[string][]string), make(map[string][]string)}
	constructor := ""
	for line := range strings.Lines(dot) {
		line = strings.TrimSpace(line)
		if m := dotConstructor.FindStringSubmatch(line); m != nil {
			constructor = m[1] // it provides the types on the following lines
		} else if m := dotNeed.FindStringSubmatch(line); m != nil {
			g.needs[m[1]] = append(g.needs[m[1]], m[2])
		} else if m := dotResult.FindStringSubmatch(line); m != nil {
			g.providers[m[1]] = append(g.providers[m[1]], constructor)
		}
	}
	return g
}

// missing returns a type that is needed to build key and that nothing provides. It returns "" if there is none, or if
// key itself is not provided. seen has the types on the path to key.
func (g graph) missing(key string, seen []string) string {
	for _, constructor := range g.providers[key] {
		for _, need := range g.needs[constructor] {
			switch {
			case strings.Contains(need, "group="): // a group may be empty
			case slices.Contains(seen, need):
			case len(g.providers[need]) == 0:
				return need
			default:
				if missing := g.missing(need, append(seen, key)); missing != "" {
					return missing
				}
			}
		}
	}
	return ""
}
