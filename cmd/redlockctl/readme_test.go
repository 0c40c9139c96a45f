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
)

var (
	code     = regexp.MustCompile("(?m)`([^`]+)`|^    (.+)$")
	codeRow  = regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`)
	flagWord = regexp.MustCompile(`^(--[a-z][a-z-]*|-[a-z])$`)
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// has reports whether the command takes a flag itself or as a flag of all commands.
func has(c *cobra.Command, name string) bool {
	if short, ok := strings.CutPrefix(name, "-"); ok && len(short) == 1 {
		return c.Flags().ShorthandLookup(short) != nil || c.Root().PersistentFlags().ShorthandLookup(short) != nil
	}
	name = strings.TrimPrefix(name, "--")
	return c.Flags().Lookup(name) != nil || c.Root().PersistentFlags().Lookup(name) != nil
}

// The documents of the library name commands of redlockctl and their flags. The README names all of them.
func TestDocs_NameCommandsAndFlagsThatAreThere(t *testing.T) {
	root := newRoot(streams{})
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	commands := root.Commands()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	flags := 0
	for _, file := range append(files, "../../README.md", "../../otelredlock/README.md", "README.md") {
		for _, found := range code.FindAllStringSubmatch(read(t, file), -1) {
			words := strings.Fields(found[1] + found[2])
			among := slices.Concat(commands, []*cobra.Command{root}) // one of them must take the flags
			if len(words) > 1 && words[0] == "redlockctl" {
				i := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == words[1] })
				if i < 0 {
					t.Errorf("%s: %q: there is no such command", file, found[0])
					continue
				}
				among = commands[i : i+1]
				words = words[1:]
			} else if file != "README.md" {
				continue
			}
			if file == "README.md" {
				named = append(named, words[0])
			}
			if len(among) > 1 && !strings.HasPrefix(words[0], "-") {
				continue
			}
			for _, word := range words {
				if word == "--" {
					break
				}
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
	for _, c := range commands {
		if !c.Hidden && !slices.Contains(named, c.Name()) {
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
