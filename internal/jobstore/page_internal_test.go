package jobstore

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// Each page starts after the last name of the previous one. If a node's names are not sorted by their bytes, pages could go on
// forever. A sorted set whose members have scores answers like that.
func TestReadPage_NamesOutOfOrderAreAnError(t *testing.T) {
	for names, problem := range map[string]string{
		"": "", "a": "", "a b c": "", "b a": `job "a" is the 2. of a page, after "b"`, "a a": `job "a" is the 2.`,
		"a c b": `job "b" is the 3.`, strings.Repeat("z ", MaxJobs): `job "z" is the 2.`,
	} {
		line, raw := "1700000000 250 0123456789abcde h0", []any{"", ""}
		for name := range strings.FieldsSeq(names) {
			line, raw = line+" n0", append(raw, name)
		}
		raw[0] = line
		r, err := quorum.ParseReply(raw)
		want.NoError(t, err)
		_, err = readerOf(readPage)(&r)
		if problem == "" && err != nil {
			t.Errorf("%.20q: %v", names, err)
		}
		if problem != "" {
			want.Text(t, err, problem)
		}
	}
}

// A node returns names from before the page.
func TestPage_DropsNamesBeforeThePage(t *testing.T) {
	for after, left := range map[string]string{"": "b d", "a": "b d", "b": "d", "c": "d", "d": "", "e": ""} {
		p := page{jobs: []raw{{name: "b"}, {name: "d"}}}
		p.dropUpTo(after)
		var got []string
		for _, job := range p.jobs {
			got = append(got, job.name)
		}
		if strings.Join(got, " ") != left {
			t.Errorf("after %q: %q, want %q", after, got, left)
		}
	}
}
