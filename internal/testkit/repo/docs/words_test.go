package docs_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Standard terms are used for known ideas, so that a search for the idea finds it. These phrases once stood for them, or are
// hard to read; beside each is what to write.
var phrases = map[string]string{
	`anew`:                          "again",
	`for ever`:                      "forever",
	`by so much`:                    "by that much",
	`affair`:                        "responsibility",
	`telephone`:                     "phone",
	`strangers?`:                    "uninspected node, or unknown client",
	`heed(ed|s|ing)?`:               "obey",
	`(is|are|was|were) to be`:       "must be, should be or will be",
	`that of which`:                 "two sentences",
	`while what holds`:              "assumptions",
	`for how long yet`:              "time left",
	`let(s|ting)? others go first`:  "campaign delay",
	`best[- ]before`:                "not after",
	`made up for`:                   "caught up with",
	`it goes on\)`:                  "retrying",
	`by hand`:                       "manually",
	`admission mark`:                "rejoin mark",
	`rous(e|es|ed|ing)`:             "wake",
	`candidacy`:                     "campaign",
	`reign(s|ed|ing)?`:              "term, or lead",
	`abreast`:                       "in parallel",
	`overdue`:                       "slow",
	`thereof`:                       "of it",
	`told again`:                    "retried",
	`hear(s|d)? of`:                 "learn of",
	`misspelt`:                      "misspelled",
	`cancell(ed|ing)`:               "canceled, canceling",
	`in vain`:                       "without success",
	`one's own`:                     "private",
	`for want of`:                   "without",
	`wherewith|whereupon|hereby`:    "two sentences",
	`so-and-so('s)?`:                "the caller",
	`(the|a|its|their|whose) begin`: "start",
}

// The same for names in the code.
var names = map[string]string{
	"askFirst": "hedged", "patience": "hedge delay or timeout", "tellAgain": "retry", "bestBefore": "notAfter", "news": "notice",
	"maxLook": "poll interval", "looked": "polled", "foreign": "of a previous leader", "met": "seen",
	"letOthers": "campaign delay", "introduce": "load scripts", "leftOut": "missed", "givenUp": "missed", "madeUp": "caught up",
	"byHand": "manual", "forgotten": "lost", "hear": "receive", "usual": "smoothed, or default", "spread": "jitter",
}

// The same for words within names, as in runLane and isOverdue.
var parts = map[string]string{
	"stranger": "uninspected", "strangers": "uninspected", "abreast": "parallel", "overdue": "slow", "mmark": "manual mark",
	"heed": "drop stale", "heeds": "drop stale", "heeded": "drop stale", "rouse": "wake", "rouses": "wake", "roused": "wake",
	"sight": "last observed state", "sights": "last observed states", "topic": "channel", "topics": "channels",
	"lane": "run slot", "lanes": "run slots", "reign": "term", "reigns": "terms", "reigning": "leading",
	"candidacy": "campaign", "hurry": "abort", "affair": "responsibility", "telephone": "phone",
	"told": "reported, notified or learned", "teller": "publisher", "obeyed": "applied", "heard": "received", "hears": "receives",
	"unheard": "not received", "conclude": "decide", "blind": "without an identity",
}

// nameWords matches the words of a name.
var nameWords = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

func TestWords_AreTheStandardOnes(t *testing.T) {
	var all []string
	for phrase := range phrases {
		all = append(all, phrase)
	}
	banned := regexp.MustCompile(`(?i)\b(` + strings.Join(all, "|") + `)\b`)
	files := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || path != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.Name() == "words_test.go":
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".lua", ".md", ".html", ".js", ".sh", ".yaml", ".yml":
		default:
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		files++
		for i, line := range strings.Split(string(text), "\n") {
			if found := banned.FindString(line); found != "" {
				t.Errorf("%s:%d: %q: write %q", path, i+1, found, instead(found))
			}
		}
		if filepath.Ext(path) == ".go" {
			checkNames(t, path, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were found", files)
	}
}

func instead(found string) string {
	for phrase, write := range phrases {
		if regexp.MustCompile(`(?i)^(` + phrase + `)$`).MatchString(found) {
			return write
		}
	}
	return ""
}

func checkNames(t *testing.T, path string, text []byte) {
	t.Helper()
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile(path, -1, len(text))
	s.Init(file, text, nil, 0)
	seen := map[string]bool{}
	for {
		at, kind, name := s.Scan()
		if kind == token.EOF {
			return
		}
		if kind != token.IDENT || seen[name] {
			continue
		}
		seen[name] = true
		if write := nameInstead(name); write != "" {
			t.Errorf("%s:%d: the name %s: call it after %q", path, set.Position(at).Line, name, write)
		}
	}
}

// nameInstead returns what a name should be called after, or "" if it is good.
func nameInstead(name string) string {
	if write, bad := names[name]; bad {
		return write
	}
	for _, word := range nameWords.FindAllString(name, -1) {
		if write, bad := parts[strings.ToLower(word)]; bad {
			return write
		}
	}
	return ""
}
