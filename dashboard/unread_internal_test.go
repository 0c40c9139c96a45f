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
	body, err := newContent(newView(s, "billing").present(&election.Elector{}), query{Page: 1}, false).render("page")
	if err != nil {
		t.Fatal(err)
	}
	want.Parts(t, "the page", string(body), "The jobs are not known", "The runs are not known", "Nothing is known of the jobs yet.")
	wantNone(t, string(body), "No leader has had a job yet", "Nothing has run yet", "last known state")
}

func TestJobPage_SaysWhatWasNeverRead(t *testing.T) {
	h := history{records: part[[]scheduler.Record]{err: errUnread}, changes: part[[]scheduler.Change]{err: errUnread}}
	v := newView(thousand(instant), "billing").present(&election.Elector{})
	body, err := newJobContent(v, query{Name: v.Jobs[0].Name, Page: 1}, h, false).render("page")
	if err != nil {
		t.Fatal(err)
	}
	want.Parts(t, "the page", string(body), "The ticks of this job are not known", "It is not known who has paused or triggered it",
		"Nothing is known of the ticks of this job and the changes of this job yet.")
	wantNone(t, string(body), "No tick has come yet", "Nobody has paused or triggered it", "0 runs")
}

func wantNone(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(body, part) {
			t.Errorf("the page says %q", part)
		}
	}
}
