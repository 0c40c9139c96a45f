package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	scriptCall = regexp.MustCompile(`redis\.p?call\(([^)]*)`)
	// command is the beginning of the arguments of a call, or of a function that passes its own on.
	command = regexp.MustCompile(`\('([A-Z]+)'(?:, '([A-Z]+)')?`)
	right   = regexp.MustCompile(`\+\S+`)

	// connection and subscription are what go-redis sends besides scripts.
	connection   = []string{"+client|setname", "+eval", "+evalsha", "+script|load"}
	subscription = []string{"+subscribe", "+unsubscribe"}
)

// A right that the page does not give a user is noticed only when the script gets there, and one too many never. So the
// page is compared with the text of all scripts.
func TestRights_AreThoseOfTheScripts(t *testing.T) {
	identity := []string{"internal/guard/guard.lua", "internal/guard/identity.lua"}
	jobs := slices.Concat(identity, []string{"internal/jobstore/begin.lua"})
	read := slices.Concat(jobs, []string{
		"redlock/holder.lua", "redlock/inspect.lua", "internal/jobstore/page.lua", "internal/jobstore/runs.lua", "election/termlog/terms.lua",
	})
	locks := slices.Concat(scriptRights(t, "redlock/"), scriptRights(t, identity...), connection, subscription)
	viewer := slices.Concat(scriptRights(t, read...), connection)
	for user, needed := range map[string][]string{
		"locks reset on >password ~{redlock} ": locks,
		"locks ~{redlock}:* ":                  minus(scriptRights(t, "internal/jobstore/"), locks),
		"locks ~{redlock}:terms:* ":            minus(scriptRights(t, "election/"), locks),
		// The guard writes only for those who take locks or lead.
		"viewer ":   minus(viewer, []string{"+hset"}),
		"operator ": slices.Concat(viewer, scriptRights(t, "internal/jobstore/ask.lua")),
	} {
		_, line, found := strings.Cut(pages(t)["docs/operations.md"].source, "\n    ACL SETUSER "+user)
		line, _, _ = strings.Cut(line, "\n")
		given := minus(right.FindAllString(line, -1), nil)
		if needed = minus(needed, nil); !found || !slices.Equal(given, needed) {
			t.Errorf("docs/operations.md: ACL SETUSER %s has\n%q, the scripts need\n%q", user, given, needed)
		}
	}
}

// scriptRights returns the rights that the scripts below these paths need.
func scriptRights(t *testing.T, paths ...string) []string {
	t.Helper()
	var all []string
	walk(t, ".", ".lua", func(path, text string) {
		if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(path, p) }) {
			return
		}
		for _, call := range scriptCall.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(call[1], "'") && call[1] != "..." {
				t.Errorf("%s: %s does not name its command", path, call[0])
			}
		}
		for _, found := range command.FindAllStringSubmatch(text, -1) {
			all = append(all, strings.TrimSuffix("+"+strings.ToLower(found[1]+"|"+found[2]), "|"))
		}
	})
	if len(all) == 0 {
		t.Errorf("no script calls anything in %q", paths)
	}
	return all
}

// minus returns the rights that are not among others, sorted, each once.
func minus(rights, others []string) []string {
	rights = slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return slices.Contains(others, r) })
	slices.Sort(rights)
	return slices.Compact(rights)
}
