package refusal

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	deniedPattern = regexp.MustCompile(`access (?:a|(?:at least )?one of the) (key|channel)|publish to the (channel)`)
	deniedCommand = regexp.MustCompile(`run the '([^']+)' command`)
	deniedLine    = regexp.MustCompile(`@user_script: ?(\d+)`)
	scriptCommand = regexp.MustCompile(`\('([A-Z]+)'`)
)

// Right returns which right a user lacks, in the words of an ACL rule: "the right +hset". err is a [NoPerm], and script is
// the text of the script that the server ran. Before 7.2, servers name only the line of the script. If they do not even
// do that, Right returns all rights of the script.
func Right(err error, script string) string {
	text := err.Error()
	if found := deniedPattern.FindStringSubmatch(text); found != nil {
		if found[1] == "key" {
			return "a key pattern (~)"
		}
		return "a channel pattern (&)"
	}
	if found := deniedCommand.FindStringSubmatch(text); found != nil {
		return "the right +" + found[1]
	}
	var all []string
	if found := deniedLine.FindStringSubmatch(text); found != nil {
		all = rights(line(script, found[1]))
	}
	if len(all) == 0 {
		all = rights(script)
	}
	if len(all) == 1 {
		return "the right " + all[0]
	}
	return "one of the rights " + strings.Join(all, " ")
}

// line returns the line of a text with a number, or "" if there is none.
func line(text, number string) string {
	lines := strings.Split(text, "\n")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// rights returns the rights that a script, or a part of it, needs.
func rights(script string) []string {
	var all []string
	for _, found := range scriptCommand.FindAllStringSubmatch(script, -1) {
		all = append(all, "+"+strings.ToLower(found[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
