package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// failing returns a job whose newest run was lost, and whose next run is under way.
func failing(name string) scheduler.Status {
	lost := scheduler.Record{
		Run: scheduler.Run{Job: name, Tick: instant.Add(-2 * time.Minute), Token: 20, Attempt: 1}, ID: "1", Replica: "pod-1",
		State: scheduler.StateLost, Start: instant.Add(-2 * time.Minute), Err: "its process was gone when another one led",
	}
	next := lost
	next.ID, next.State, next.Start, next.Err = "2", scheduler.StateRunning, instant.Add(-time.Second), ""
	return scheduler.Status{Job: name, Spec: "* * * * *", Zone: "UTC", Failures: 2, Last: next, LastEnded: lost, Running: true}
}

// Every job that fails is listed, with the reason and the age of the run that failed, also while the next one runs.
func TestAttention_ListsAllWithReasonAndAge(t *testing.T) {
	s := thousand(instant)
	s.jobs.value = nil
	for i := range maxNotices {
		s.jobs.value = append(s.jobs.value, failing(fmt.Sprintf("job %03d", i)))
	}
	got := attention(newView(s, "billing").present(&election.Elector{}))
	if len(got) != maxNotices || got[0].Job != "job 000" || got[maxNotices-1].Job != fmt.Sprintf("job %03d", maxNotices-1) {
		t.Fatalf("%d notices, from %+v", len(got), got[0])
	}
	const text = "failed 2 times in a row, the last run is lost: its process was gone when another one led"
	for _, n := range got {
		if n.Text != text || n.At == nil || !n.At.Equal(instant.Add(-2*time.Minute)) {
			t.Fatalf("%+v, want %q", n, text)
		}
	}
	s.jobs.value = append(s.jobs.value, failing("one more"))
	if got := attention(newView(s, "billing")); len(got) != maxNotices+1 || got[maxNotices].Text != "and 1 more that failed" {
		t.Errorf("%d notices, the last is %+v", len(got), got[len(got)-1])
	}
}

// What is not known is no zero.
func TestPage_OfAJobAndANodeThatCannotBeRead(t *testing.T) {
	s := thousand(instant)
	s.jobs.value = []scheduler.Status{{Job: "sick", Reason: "its state has another layout"}, failing("sound")}
	s.nodes = []redlock.NodeStatus{{Addr: "r1:6379", Err: errors.New("connection refused")}}
	v := newView(s, "billing").present(&election.Elector{})
	body, err := newContent(v, query{Page: 1}, false).render("page")
	want.NoError(t, err)
	page := string(body)
	want.Parts(t, "the page", page, "sick</a> cannot be read: its state has another layout",
		`<td data-label="Missed" class="n">not known</td>`, `>not known</td>`, `<td data-label="Latency" class="n"></td>`)
	if n := strings.Count(page, "not known</td>"); n != 2 { // failed in a row, and missed
		t.Errorf("%d cells say that they are not known, want 2", n)
	}
	one, err := newJobContent(v, query{Name: "sick", Page: 1}, history{}, false).render("page")
	want.NoError(t, err)
	want.Parts(t, "its page", string(one), `<dt>failed in a row</dt><dd class="num">not known</dd>`, `<dt>missed</dt><dd class="num">not known</dd>`)
}

// Jobs in trouble come first, and within the two groups jobs are sorted by name.
func TestPage_ListsJobsInTroubleFirst(t *testing.T) {
	s := thousand(instant)
	s.jobs.value = []scheduler.Status{{Job: "a"}, failing("c"), {Job: "d"}, failing("b")}
	var names []string
	for _, j := range newContent(newView(s, "billing"), query{Page: 1}, false).Listed {
		names = append(names, j.Name)
	}
	if got := strings.Join(names, " "); got != "b c a d" {
		t.Errorf("listed are %s", got)
	}
}

// The page of a job says how long its runs usually take, and lists its ticks by their time.
func TestPage_OfAJobSaysHowLongItUsuallyTakes(t *testing.T) {
	s, h := thousand(instant), history{}
	h.records.at = instant
	for i, took := range []time.Duration{3 * time.Second, 5 * time.Second, time.Hour, 4 * time.Second, time.Second} {
		at := instant.Add(-time.Duration(i) * time.Minute)
		r := scheduler.Record{Run: scheduler.Run{Tick: at}, ID: "x", State: scheduler.StateOK, Start: at, End: at.Add(took)}
		if took == time.Hour {
			r.State, r.Tick = scheduler.StateFailed, instant.Add(-time.Hour) // of a tick that ran again
		}
		h.records.value = append(h.records.value, r)
	}
	c := newJobContent(newView(s, "billing"), query{Name: s.jobs.value[0].Job, Page: 1}, h, false)
	body, err := c.render("page")
	want.NoError(t, err)
	want.Parts(t, "the page", string(body), "<dt>last run</dt><dd>took 1.0 s</dd>", "<dt>usually</dt><dd>4.0 s</dd>")
	if last := c.Records[len(c.Records)-1]; last.State != scheduler.StateFailed {
		t.Errorf("the last row is %+v", last)
	}
	if c := newJobContent(newView(s, "billing"), query{Name: s.jobs.value[0].Job, Page: 1}, history{}, false); c.Usual != nil {
		t.Errorf("without a run, it usually takes %v", c.Usual)
	}
}

func TestJobLink_EscapesTheNameAndRefusesWhatIsNoWebPage(t *testing.T) {
	p := &page{}
	JobLink("runbook", "/wiki/{job}?q={job}#x")(p)
	if to := p.links[0].To("a/b c&d+é"); to != "/wiki/a%2Fb%20c%26d%2B%C3%A9?q=a%2Fb%20c%26d%2B%C3%A9#x" {
		t.Errorf("it leads to %s", to)
	}
	for _, bad := range [][2]string{{"", "/x"}, {"logs", "javascript:alert(1)"}, {"logs", "http://[::1/{job}"}} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "needs a label, and the URL of a web page") {
					t.Errorf("%q: %s", bad, text)
				}
			}()
			JobLink(bad[0], bad[1])
		}()
	}
}
