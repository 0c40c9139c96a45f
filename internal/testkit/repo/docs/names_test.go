package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	// public are the folders of the packages whose names the pages are checked for.
	public = append([]string{"redlocktest", "fenced", "adapters/leadercron", "adapters/leaderhttp",
		"adapters/redlockslog"}, logging...)

	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*(?:\.[A-Z]\w*)*)`)
	// The pages leave the package out where it is plain: `Locker.Do`, `ErrHeld`, `WithTTL`.
	bare = regexp.MustCompile(`^((?:[A-Z]\w*\.[A-Z]\w*)|(?:Err|With)[A-Z]\w*)(?:\(.*\))?$`)
)

// It is enough that the package declares each part of a name somewhere: a type, a function, a method, a field or a value.
func TestNames_AreThoseOfThePackages(t *testing.T) {
	sources := map[string]string{} // by the name of the package
	for _, folder := range public {
		text := goSources(t, folder)
		sources[packageClause.FindStringSubmatch(text)[1]] += text
		sources[""] += text
	}
	checked := 0
	check := func(where, name, text string) {
		checked++
		for part := range strings.SplitSeq(name, ".") {
			declared := fmt.Sprintf(`(?m)^(\t|func |func \(.*?\) |type |const |var )(\w+, )*%s\b`, part)
			if !regexp.MustCompile(declared).MatchString(text) {
				t.Errorf("%s: there is no %s", where, name)
			}
		}
	}
	for _, p := range pages(t) {
		for _, c := range p.code {
			for _, found := range qualified.FindAllStringSubmatch(c.text, -1) {
				if text, known := sources[found[1]]; known {
					check(p.at(c.line), found[2], text)
				}
			}
			if found := bare.FindStringSubmatch(c.text); c.span && found != nil {
				check(p.at(c.line), found[1], sources[""])
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}
