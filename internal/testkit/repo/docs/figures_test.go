package docs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
)

var updateFigures = flag.Bool("figures.update", false, "write the figures of bench/figures into the pages")

// measured is a row of the benchmarks, as bench -record keeps it.
type measured struct {
	Command, Machine, Date string
	Failed                 int
	Figures                []struct {
		Name                 string
		Value, Beside, Ratio float64
		Is, Limit            string
	}
}

// generated is a part of a page that is made from figures by the template that the comment names, in bench/figures.
var generated = regexp.MustCompile(`(?s)(<!-- figures: ([a-z-]+) -->\n)(.*?)(<!-- end of figures -->)`)

// No figure of the benchmarks is copied into a page by a person: make figures writes them.
func TestFigures_AreThoseThatWereMeasured(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "bench/figures/figures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows map[string]measured
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	parts := 0
	for path, p := range pages(t) {
		if found := len(generated.FindAllString(p.source, -1)); found != strings.Count(p.source, "<!-- figures") {
			t.Errorf("%s has markers of figures that begin no part", path)
		}
		page := generated.ReplaceAllStringFunc(p.source, func(part string) string {
			parts++
			of := generated.FindStringSubmatch(part)
			made, err := filled(of[2], rows)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return part
			}
			return of[1] + "\n" + strings.TrimSpace(made) + "\n\n" + of[4]
		})
		switch {
		case page == p.source:
		case *updateFigures:
			if err := os.WriteFile(filepath.Join(root, path), []byte(page), 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s has other figures than bench/figures/figures.json: run make figures, or this test with -figures.update", path)
		}
	}
	if parts < 2 {
		t.Errorf("%d parts of pages are made from figures", parts)
	}
}

// filled executes the template of this name over the rows.
func filled(name string, rows map[string]measured) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "bench/figures", name+".tmpl"))
	if err != nil {
		return "", err
	}
	functions := template.FuncMap{
		"digits":   digits,
		"isMissed": func(limit string) bool { return strings.HasSuffix(limit, "MISSED") },
		"bound":    func(limit string) string { return strings.TrimSuffix(limit, ": MISSED") },
		"ours": func(row, name string) (string, error) {
			for _, f := range rows[row].Figures {
				if f.Name == name {
					return digits(f.Value), nil
				}
			}
			return "", fmt.Errorf("no figure %q of row %q was measured", name, row)
		},
		"theirs": func(row, name, is string) (string, error) {
			for _, f := range rows[row].Figures {
				if f.Name == name && f.Is == is {
					return digits(f.Beside), nil
				}
			}
			return "", fmt.Errorf("no figure of %q beside %q of row %q was measured", is, name, row)
		},
	}
	made, err := template.New(name).Funcs(functions).Parse(string(text))
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = made.Execute(&out, rows)
	return out.String(), err
}

// digits shows two digits, of thousands three, with a comma: more are noise.
func digits(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.3g million", x/1e6)
	case x >= 1000:
		n := int(x+5) / 10 * 10
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
