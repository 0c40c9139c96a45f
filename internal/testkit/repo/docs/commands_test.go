package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	target  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	makes   = regexp.MustCompile(`\bmake(?: --\S+)* ([a-z]+)`)
	comment = regexp.MustCompile(`(^| +)#.*`)
	verbs   = []string{"run", "test", "build", "vet", "install"}
)

func TestCommands_NameTargetsAndPackages(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, found := range target.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, found[1])
	}
	checked := 0
	for _, p := range pages(t) {
		for _, c := range p.code {
			if c.language == "go" {
				continue
			}
			for i, line := range strings.Split(c.text, "\n") {
				known, problem := commands(root, line, targets)
				if problem != "" { // a command for the page's own folder
					known, problem = commands(filepath.Join(root, filepath.Dir(p.path)), line, targets)
				}
				checked += known
				if problem != "" {
					t.Errorf("%s: %s", p.at(c.line+i), problem)
				}
			}
		}
	}
	for _, form := range []string{"Makefile", "scripts/*.sh", ".ci/run", ".github/workflows/*"} {
		files, _ := filepath.Glob(filepath.Join(root, form))
		if len(files) == 0 {
			t.Errorf("there is no %s", form)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range makes.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(targets, found[1]) {
					t.Errorf("%s: %s: the Makefile has no such target", file, found[0])
				}
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d commands were found", checked)
	}
}

// commands returns how many commands of go and make a line of a shell has, and what is wrong with one of them if the
// line runs in dir.
func commands(dir, line string, targets []string) (known int, problem string) {
	for part := range strings.SplitSeq(comment.ReplaceAllString(line, ""), "&&") {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(part), "$ "))
		if len(words) < 2 {
			continue
		}
		var wrong string
		switch {
		case words[0] == "cd": // also into a fresh clone
			dir = filepath.Join(dir, strings.TrimPrefix(words[1], "redlockfx/"))
			continue
		case words[0] == "make":
			wrong = unknownTarget(words[1:], targets)
		case words[0] == "go" && slices.Contains(verbs, words[1]):
			wrong = unknownPackage(dir, words[2:])
		default:
			continue
		}
		known++
		if wrong != "" {
			problem = strings.Join(words, " ") + ": " + wrong
		}
	}
	return known, problem
}

func unknownTarget(words, targets []string) string {
	for _, word := range words {
		if !strings.ContainsAny(word, "=-") && !slices.Contains(targets, word) {
			return "the Makefile has no " + word
		}
	}
	return ""
}

// unknownPackage returns what is wrong with the packages of a go command that runs in dir.
func unknownPackage(dir string, words []string) string {
	for _, word := range words {
		if !strings.HasPrefix(word, ".") {
			continue // a flag, its value, or a package of others
		}
		folder, all := strings.CutSuffix(word, "...")
		pattern := filepath.Join(dir, folder, "*.go")
		files, err := filepath.Glob(pattern)
		if _, missing := os.Stat(filepath.Dir(pattern)); err != nil || missing != nil || (!all && len(files) == 0) {
			return "there is no package " + word
		}
	}
	return ""
}
