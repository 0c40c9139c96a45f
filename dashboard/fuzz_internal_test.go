package dashboard

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redlockfx/redlockfx/internal/name"
)

// Every query is refused, or parsed and repeated within the limits. A link parses to the query that it was made of.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"name=a&q=b&only=trouble&page=2", "period=day&only=failed", "q=%22%3C&only=running", "page=99999999999999999999", "name=%00", "name=%ff", "a=%zz", "a;b", "only=Trouble",
	} {
		f.Add("/job", seed, "job")
	}
	f.Fuzz(func(t *testing.T, path, raw, back string) {
		q, err := queryOf(&http.Request{URL: &url.URL{Path: path, RawQuery: raw}})
		if err != nil {
			if why, is := errors.AsType[*refusal](err); !is || len(why.text) > 1<<10 || why.status >= http.StatusInternalServerError {
				t.Errorf("%q is refused with %v", raw, err)
			}
			return
		}
		if len(q.Name) > name.MaxLen || len(q.Filter) > maxFilter || q.Page < 1 || strings.ContainsAny(q.Name, "\x00\r\n") {
			t.Errorf("%q is read as %+v", raw, q)
		}
		link := q.String()
		if len(link) > 3*(len(q.Name)+len(q.Filter))+100 {
			t.Errorf("%q is repeated in %d bytes", raw, len(link))
		}
		again, err := queryOf(&http.Request{URL: &url.URL{Path: "/api", RawQuery: link[1:]}})
		if err != nil || again != q {
			t.Errorf("%+v links to %s, which is %+v, %v", q, link, again, err)
		}
		for _, word := range []string{back, q.Back()} {
			to, err := url.Parse(backTo(word, q.Name))
			if err != nil || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(to.Path, "./") {
				t.Errorf("an action leads back to %v, %v", to, err)
			}
		}
	})
}

// The form of an action names the page to return to; it must not lead to another site.
func TestBackTo_LeadsToAPageOfTheDashboard(t *testing.T) {
	for back, want := range map[string]string{
		"paused": "./?only=paused", "trouble": "./?only=trouble", "job": "./job?name=a%2Fb%3Fc%3Dd%26e", "": "./",
		"?page=2": "./", "//evil.example": "./", "https://evil.example": "./",
	} {
		if got := backTo(back, "a/b?c=d&e"); got != want {
			t.Errorf("back to %q leads to %q, want %q", back, got, want)
		}
	}
}

// Any text from nodes and requests becomes one line, and never a field of an event stream.
func FuzzTexts(f *testing.F) {
	f.Add("smtp: 550 no\rretry: 2000000000\revent: gone")
	f.Add("\r\n\u202e\x1b[31m\xff\u2028\u0085data: x")
	f.Add(strings.Repeat("é", maxText))
	f.Fuzz(func(t *testing.T, text string) {
		line := firstLine(text)
		if len(line) > maxText+len("…") || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n\u0085\u2028\u2029\u202e\x1b\x00") {
			t.Errorf("%q is shown as %q", text, line)
		}
		for field := range bytes.FieldsFuncSeq(eventOf([]byte(text)), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if string(field) != "retry: 1000" && !bytes.HasPrefix(field, []byte("data: ")) {
				t.Errorf("%q has the field %q", text, field)
			}
		}
	})
}
