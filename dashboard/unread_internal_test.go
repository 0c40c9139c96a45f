package dashboard

import (
	"errors"
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

var errUnread = errors.New("no quorum")

// A page does not say that there is nothing if nothing could be read yet.
func TestPage_SaysWhatWasNeverRead(t *testing.T) {
	s := thousand(instant)
	s.jobs = part[[]scheduler.Status]{err: errUnread}
	h := history{records: part[[]scheduler.Record]{err: errUnread}, changes: part[[]scheduler.Change]{err: errUnread}}
	v := newView(thousand(instant), "billing").present(&election.Elector{})
	for name, test := range map[string]struct {
		of        *content
		says, not []string
	}{
		"of all jobs": {newContent(newView(s, "billing").present(&election.Elector{}), query{Page: 1}, false),
			[]string{"The jobs are not known", "The runs are not known", "Nothing is known of the jobs yet."},
			[]string{"No leader has had a job yet", "Nothing has run yet", "last known state"}},
		"of one job": {newJobContent(v, query{Name: v.Jobs[0].Name, Page: 1}, h, false),
			[]string{"The ticks of this job are not known", "It is not known who has paused or triggered it",
				"Nothing is known of the ticks of this job and the changes of this job yet."},
			[]string{"No tick has come yet", "Nobody has paused or triggered it", "0 runs"}},
	} {
		body, err := test.of.render("page")
		if err != nil {
			t.Fatal(err)
		}
		want.Parts(t, name, string(body), test.says...)
		for _, part := range test.not {
			if strings.Contains(string(body), part) {
				t.Errorf("the page %s says %q", name, part)
			}
		}
	}
}
