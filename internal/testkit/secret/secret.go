// Package secret makes node URLs that contain a password, in the right place or in any wrong one. It is for tests that
// no output shows the password.
package secret

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Mistyped is a URL with a password in it.
type Mistyped struct {
	URL   string
	parts []string // of the password, in lower case
}

// before are URLs in which an '@' follows the password.
var before = []string{
	"redis://u:%s@r1:6379", "rediss://:%s@r1", "u:%s@r1:6379", "%s@r1", "redis://%s@r1:1/2", "redis:u:%s@r1", "redis:/u:%s@r1",
	"redis//u:%s@r1", "//u:%s@r1", " redis://u:%s@r1", "redis://u:%s@@r1", "redis://u:%s@", "redis://u@%s@r1:1", "http://u:%s@r1",
	"%s://u:p@r1", "redis://u:%s@[::1", "redis://u:%s@r1:port", "redis://u:%s@r1/x", "redis://u:%s@r1?x=1", "redis://u:%s@r1#x",
	"redis://u:%s%%zz@r1", "redis://u:%s@r1?skip_verify=true", "rediss://u:%s@r1?skip_verify=true", "redis://u:%s@r=1",
}

// elsewhere are URLs in which no '@' follows the password, so digits may be a port.
var elsewhere = []string{
	"redis://u:%s", "redis://u:p@r1/%s", "redis://u:p@r1?%s", "redis://r1?password=%s", "redis://r1?db=%s", "redis://r1#%s",
	"redis://r1:%s", "password=%s", "redis://u=%s", "redis://[%s]:1", "redis://[::1%%25%s", "redis://u:p@r1?client_name=%s",
	"redis://u:p@r1/0?dial_timeout=%s", "ssl=%s", "r1:6379 %s", "redis://r1;%s",
}

// Check calls property with random URLs until it fails.
func Check(t *testing.T, property func(t *rapid.T, s Mistyped)) {
	t.Helper()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // the seed in the output is enough
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) { property(t, draw(t)) })
}

// draw returns a URL with a random password at a random place.
func draw(t *rapid.T) Mistyped {
	var m Mistyped
	separators := strings.Split("/ # ? : = & % ; + $ [ ] \\ %2F %40 , ://", " ")
	words, form := `[g-zG-Z0-9]{2}[g-z]{3}[g-zG-Z0-9]{3}`, rapid.SampledFrom(elsewhere)
	if rapid.Bool().Draw(t, "an @ follows") {
		words, form = words+`|6[1-4][1-9]{3}`, rapid.SampledFrom(before)
		separators = append(separators, "@") // elsewhere, what follows it is a host
	}
	var password strings.Builder
	for i := range rapid.IntRange(1, 3).Draw(t, "parts") {
		if i > 0 {
			password.WriteString(rapid.SampledFrom(separators).Draw(t, "separator"))
		}
		part := rapid.StringMatching(words).Draw(t, "part")
		m.parts = append(m.parts, strings.ToLower(part))
		password.WriteString(part)
	}
	if rapid.Bool().Draw(t, "ends with =") {
		password.WriteString("=")
	}
	m.URL = fmt.Sprintf(form.Draw(t, "form"), password.String())
	return m
}

// Among returns the URL in a list with two hosts. If the URL may have a user and a password, the hosts have them too.
// If only some addresses had them, the list would be refused, and nothing of its URLs would be read.
func (m Mistyped) Among(before, after string) []string {
	if strings.Contains(m.URL, "@") {
		before, after = "redis://u:p@"+before, "redis://u:p@"+after
	}
	return []string{before, m.URL, after}
}

// pointer matches the text that %v makes of a pointer. Its digits are arbitrary.
var pointer = regexp.MustCompile(`0x[0-9a-f]+`)

// In returns a part of the password that is in the text, or "". It ignores digits within a longer number or after its
// decimal point, because they are those of a time.
func (m Mistyped) In(text string) string {
	text = pointer.ReplaceAllString(strings.ToLower(text), "")
	for _, part := range m.parts {
		shown := regexp.QuoteMeta(part)
		if strings.Trim(part, "0123456789") == "" {
			shown = `(^|[^0-9.])` + shown + `([^0-9]|$)`
		}
		if regexp.MustCompile(shown).MatchString(text) {
			return part
		}
	}
	return ""
}
