package doctest_test

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
	comment = regexp.MustCompile(`(^| +)#.*`)
	verbs   = []string{"run", "test", "build", "vet"}
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
		for _, code := range p.code {
			if code.lang == "go" {
				continue
			}
			for i, line := range strings.Split(code.text, "\n") {
				dir := root
				for part := range strings.SplitSeq(comment.ReplaceAllString(line, ""), "&&") {
					words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(part), "$ "))
					if len(words) < 2 {
						continue
					}
					var problem string
					switch {
					case words[0] == "cd":
						dir = filepath.Join(dir, words[1])
						continue
					case words[0] == "make":
						problem = unknownTarget(words[1:], targets)
					case words[0] == "go" && slices.Contains(verbs, words[1]):
						problem = unknownPackage(dir, words[2:])
					default:
						continue
					}
					checked++
					if problem != "" {
						t.Errorf("%s: %s: %s", at(p.path, code.line+i), strings.Join(words, " "), problem)
					}
				}
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d commands were found", checked)
	}
}

func unknownTarget(words, targets []string) string {
	for _, word := range words {
		if !strings.ContainsAny(word, "=-") && !slices.Contains(targets, word) {
			return "the Makefile has no " + word
		}
	}
	return ""
}

// unknownPackage is what is wrong with the packages of a go command that runs in dir.
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
