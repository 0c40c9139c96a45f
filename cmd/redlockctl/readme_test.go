package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

var (
	code     = regexp.MustCompile("(?m)`([^`]+)`|^    (.+)$")
	codeRow  = regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`)
	flagWord = regexp.MustCompile(`^(--[a-z][a-z-]*|-[a-z])$`)
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	want.NoError(t, err)
	return string(text)
}

// has reports whether the command takes a flag itself or as a flag of all commands.
func has(c *cobra.Command, name string) bool {
	if short, ok := strings.CutPrefix(name, "-"); ok && len(short) == 1 {
		return c.Flags().ShorthandLookup(short) != nil || c.Root().PersistentFlags().ShorthandLookup(short) != nil
	}
	return c.Flag(strings.TrimPrefix(name, "--")) != nil
}

// The documents of the library name commands of redlockctl and their flags. The README names all of them, and flags
// without their command, too.
func TestDocs_NameCommandsAndFlagsThatAreThere(t *testing.T) {
	root := newRoot(nil, streams{})
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	files, err := filepath.Glob("../../docs/*.md")
	want.NoError(t, err)
	named, flags := map[string]bool{}, 0
	for _, file := range append(files, "../../README.md", "../../otelredlock/README.md", "README.md") {
		for _, found := range code.FindAllStringSubmatch(read(t, file), -1) {
			words := strings.Fields(found[1] + found[2])
			among := append(root.Commands(), root) // one of them must take the flags
			switch {
			case len(words) > 1 && words[0] == "redlockctl":
				command, _, err := root.Find(words[1:2])
				if err != nil {
					t.Errorf("%s: %q: %v", file, found[0], err)
					continue
				}
				among = []*cobra.Command{command}
				named[command.Name()] = named[command.Name()] || file == "README.md"
			case file != "README.md":
				continue
			case !strings.HasPrefix(words[0], "-"):
				named[words[0]] = true
				continue
			}
			if end := slices.Index(words, "--"); end >= 0 {
				words = words[:end]
			}
			for _, word := range words {
				if !flagWord.MatchString(word) {
					continue
				}
				flags++
				if !slices.ContainsFunc(among, func(c *cobra.Command) bool { return has(c, word) }) {
					t.Errorf("%s: %q: there is no %s", file, found[0], word)
				}
			}
		}
	}
	for _, c := range root.Commands() {
		if !c.Hidden && !named[c.Name()] {
			t.Errorf("%s is not named", c.Name())
		}
	}
	if flags < 5 {
		t.Errorf("only %d flags were found", flags)
	}
}

func TestReadme_HasTheCodesOfTheProgram(t *testing.T) {
	var listed []int
	for _, row := range codeRow.FindAllStringSubmatch(read(t, "README.md"), -1) {
		for text := range strings.SplitSeq(row[1], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, n)
		}
	}
	if want := []int{0, failed, misused, no, unreachable, unfinished, lostLease, noLease, notRunnable, notFound}; !slices.Equal(listed, want) {
		t.Errorf("the codes are %v, want %v", listed, want)
	}
}
