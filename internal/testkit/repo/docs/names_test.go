package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*(?:\.[A-Z]\w*)*)`)
	// The pages leave the package out where it is plain: `Locker.Do`, `ErrHeld`, `WithTTL`.
	bare = regexp.MustCompile(`^((?:[A-Z]\w*\.[A-Z]\w*)|(?:Err|With)[A-Z]\w*)(?:\(.*\))?$`)
)

func TestNames_AreThoseOfThePackages(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for c := range p.code() {
			for _, found := range qualified.FindAllStringSubmatch(c.text, -1) {
				known, right := exported(t, found[1], found[2])
				if known {
					checked++
				}
				if known && !right {
					t.Errorf("%s: there is no %s", p.at(c.line), found[0])
				}
			}
			if found := bare.FindStringSubmatch(c.text); c.span && found != nil {
				checked++
				if _, right := exported(t, "", found[1]); !right {
					t.Errorf("%s: no package has %s", p.at(c.line), found[1])
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}

// exported tells whether a package is called qualifier, and whether such a package exports name. Every package counts
// if the qualifier is empty.
func exported(t *testing.T, qualifier, name string) (known, right bool) {
	t.Helper()
	for _, p := range sources(t) {
		if qualifier == "" || p.Name == qualifier {
			known = true
			right = right || has(p, strings.Split(name, "."))
		}
	}
	return known, right
}
