package migration

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/migration.md"

var (
	fenced = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	marked = regexp.MustCompile(`(?ms)^// begin (\w+)\n(.*?)^// end (\w+)$`)
)

func TestPage_QuotesEveryMarkedPieceAndNothingElse(t *testing.T) {
	var blocks []string
	for _, m := range fenced.FindAllStringSubmatch(read(t, page), -1) {
		blocks = append(blocks, strings.TrimSpace(m[1]))
	}
	names := map[string]string{} // by text
	for _, file := range []string{"redsync.go", "gocron.go", "robfig.go"} {
		source := read(t, file)
		pieces := marked.FindAllStringSubmatch(source, -1)
		if marks := strings.Count(source, "\n// begin "); len(pieces) != marks || marks == 0 {
			t.Errorf("%s: %d pieces between %d marks", file, len(pieces), marks)
		}
		for _, m := range pieces {
			if m[1] != m[3] {
				t.Errorf("%s: %s ends as %s", file, m[1], m[3])
			}
			text := strings.TrimSpace(m[2])
			names[text] = m[1]
			if n := count(blocks, text); n != 1 {
				t.Errorf("%s: %s is quoted %d times", file, m[1], n)
			}
		}
	}
	for i, block := range blocks {
		name, ok := names[block]
		if !ok {
			t.Errorf("no source has this block of %s:\n%s", page, block)
		}
		before, ok := strings.CutSuffix(name, "Before")
		if ok && (i+1 == len(blocks) || names[blocks[i+1]] != before+"After") {
			t.Errorf("%s is not followed by %sAfter", name, before)
		}
	}
}

func count(blocks []string, text string) (n int) {
	for _, block := range blocks {
		if block == text {
			n++
		}
	}
	return n
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
