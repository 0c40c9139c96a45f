package dashboard

import (
	"html"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A run whose timeout has passed needs attention, long before the next tick and even if a newer run of the job has ended. If its
// leader is gone, nobody knows whether it still runs.
func TestAttention_ToARunAfterItsTimeout(t *testing.T) {
	s := thousand(instant)
	s.leader.value.Expires = time.Now().Add(time.Minute)
	hung := scheduler.Record{
		Run: scheduler.Run{Job: "nightly", Tick: instant.Add(-40 * time.Second), Token: s.leader.value.Token}, ID: "x", Replica: "pod-1",
		State: scheduler.StateRunning, Start: instant.Add(-40 * time.Second), Err: "no end within the job's timeout of 3s",
	}
	newer := hung
	newer.ID, newer.State, newer.Err, newer.Start, newer.End = "y", scheduler.StateOK, "", instant.Add(-9*time.Second), instant
	const text = "has been running for 40 s on pod-1: no end within the job's timeout of 3s"
	for _, last := range []scheduler.Record{hung, newer} {
		s.jobs.value = []scheduler.Status{{
			Job: "nightly", Spec: "0 2 * * *", Zone: "UTC", Last: last, Running: last.State == scheduler.StateRunning, Overrun: hung,
		}}
		v := newView(s, "billing").present(&election.Elector{})
		c := newContent(v, query{Page: 1, Only: "trouble"}, false)
		if len(c.Attention) == 0 || c.Attention[0].Text != text || c.Troubled != 1 || len(c.Listed) != 1 || v.Jobs[0].Long != hung.Err {
			t.Errorf("attention %+v, %d in trouble, job %+v", c.Attention, c.Troubled, v.Jobs[0])
		}
		body, err := newJobContent(v, query{Name: "nightly", Page: 1}, history{}, false).render("page")
		want.NoError(t, err)
		if n := strings.Count(html.UnescapeString(string(body)), "It "+text); n != 1 {
			t.Errorf("the job's page says so %d times", n)
		}
	}
	s.leader.value.Token++
	if v := newView(s, "billing").present(&election.Elector{}); v.Jobs[0].Long != "" {
		t.Errorf("its leader is gone, and %q", v.Jobs[0].Long)
	}
}
