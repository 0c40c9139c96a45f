package doctest_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*(?:\.[A-Z]\w*)*)`)
	// The docs leave the package out where it is plain: `Locker.Do`, `ErrHeld`, `WithTTL`.
	bare = regexp.MustCompile(`^((?:[A-Z]\w*\.[A-Z]\w*)|(?:Err|With)[A-Z]\w*)(?:\(.*\))?$`)
)

func TestNames_AreThoseOfThePackages(t *testing.T) {
	all := sources(t)
	checked := 0
	for _, p := range pages(t) {
		for _, code := range p.code {
			for _, found := range qualified.FindAllStringSubmatch(code.text, -1) {
				if !isQualifier(all, found[1]) {
					continue
				}
				checked++
				if !find(all, found[1], strings.Split(found[2], ".")) {
					t.Errorf("%s: there is no %s", at(p.path, code.line), found[0])
				}
			}
			if found := bare.FindStringSubmatch(code.text); code.span && found != nil {
				checked++
				if !find(all, "", strings.Split(found[1], ".")) {
					t.Errorf("%s: no package has %s", at(p.path, code.line), found[1])
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}
