package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// thousand returns a thousand jobs, some of them in trouble.
func thousand(now time.Time) *snapshot {
	s := &snapshot{taken: time.Now(), now: now}
	s.leader = part[election.Leader]{at: now, value: election.Leader{ID: "billing-7c9d8-x2x4k", Token: 20, Expires: time.Now()}}
	for i := range 5 {
		s.nodes = append(s.nodes, redlock.NodeStatus{Addr: fmt.Sprintf("redis-%d:6379", i), Version: "7.0.15"})
	}
	s.terms.at, s.jobs.at = now, now
	for i := range uint64(20) {
		s.terms.value = append(s.terms.value, termlog.Record{
			Token: 20 - i, Replica: "billing-7c9d8-x2x4k", Since: now.Add(-time.Duration(i) * 7 * time.Minute),
		})
	}
	for i := range 1000 {
		status := scheduler.Status{
			Job: fmt.Sprintf("customer %04d: send what is due", i), Spec: "*/3 * * * *", Zone: "Europe/Berlin",
			Next: now.Add(time.Minute), Failures: i % 3,
		}
		r := scheduler.Record{
			Run: scheduler.Run{Job: status.Job, Tick: now.Add(-time.Minute), Token: 20, Attempt: 1},
			ID:  fmt.Sprint(i), Replica: "billing-7c9d8-x2x4k", State: scheduler.StateOK,
		}
		r.Start, r.End = r.Tick, r.Tick.Add(time.Second)
		if i%3 > 0 {
			r.State, r.Err = scheduler.StateFailed, strings.Repeat("GET https://rates.example: 503 ", 20)
			status.Reason, status.ReasonTick = "a run was under way, and has been for long", r.Tick
		}
		status.Last, status.LastEnded = r, r
		s.jobs.value = append(s.jobs.value, status)
	}
	return s
}

func render(v *view, q query) ([]byte, error) {
	return newContent(v.present(&election.Elector{}), q, true).render("page")
}

var instant = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func TestPage_OfAThousandJobsIsSmall(t *testing.T) {
	v := newView(thousand(instant), "billing")
	body, err := render(v, query{Page: 1})
	if jobs := strings.Count(string(body), "<tr id="); err != nil || len(body) > 400<<10 || jobs != onePage {
		t.Errorf("%v, %d KiB, %d jobs", err, len(body)>>10, jobs)
	}
	last, err := render(v, query{Page: 10})
	if err != nil || !strings.Contains(string(last), "customer 0999") || !strings.Contains(string(last), "page 10 of 10") {
		t.Errorf("%v: the last page has not the last job", err)
	}
}
