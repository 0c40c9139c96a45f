package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// JSON has no year 10000. Such a time once made the whole answer an error.
func TestView_OfTimesThatJSONCannotHave(t *testing.T) {
	late := time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC)
	early := time.Date(-1, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, bad := range []time.Time{late, early} {
		s := thousand(instant)
		r := scheduler.Record{Run: scheduler.Run{Job: "a", Tick: bad}, ID: "x", Start: bad, End: bad, State: scheduler.StateOK}
		s.jobs.value[0] = scheduler.Status{
			Job: "a", Spec: "* * * * *", Zone: "UTC", Next: bad, ReasonTick: bad, Last: r, LastOK: r, DataLost: bad,
		}
		s.terms.value[0].Since = bad
		v := newView(s, "billing").present(&election.Elector{})
		h := history{}
		h.records.value = []scheduler.Record{r}
		h.changes.value = []scheduler.Change{{What: "pause", At: bad}}
		one := newJobContent(v, query{Name: "a", Page: 1}, h, true)
		for name, value := range map[string]any{"all": v, "records": one.Records, "changes": one.Changes} {
			if _, err := json.Marshal(value); err != nil {
				t.Errorf("%v, %s: %v", bad, name, err)
			}
		}
		for _, c := range []*content{one, newContent(v, query{Page: 1}, true)} {
			if _, err := c.render("page"); err != nil {
				t.Error(err)
			}
		}
	}
}

// A lost pause shows in no run. The notice stays for a day, because somebody may have to pause the job again.
func TestAttention_ToAJobThatTheNodesLost(t *testing.T) {
	for ago, shown := range map[time.Duration]bool{time.Hour: true, 25 * time.Hour: false} {
		lost := instant.Add(-ago)
		got := attention(&view{Now: instant, Jobs: []job{{Job: ops.Job{Name: "a", Lost: &lost}}}})
		if is := len(got) == 1 && got[0].Job == "a" && strings.Contains(got[0].Text, "a majority of nodes lost its state"); is != shown {
			t.Errorf("after %v: %v", ago, got)
		}
	}
}

// A node that denies a right votes all the same.
func TestAttention_ToARightThatIsMissing(t *testing.T) {
	lacking := redlock.NodeStatus{Addr: "r1:6379", Denied: errors.New("the user lacks the right +hget")}
	got := attention(&view{Now: instant, Nodes: nodesOf([]redlock.NodeStatus{lacking})})
	if len(got) != 1 || got[0].Text != "node r1:6379 denies the user a right: the user lacks the right +hget" {
		t.Errorf("%v", got)
	}
}

// No request may name a job whose name breaks the rule, and such a name may be of any length.
func TestView_LeavesOutNamesThatBreakTheRule(t *testing.T) {
	s := thousand(instant)
	s.jobs.value[3].Job = strings.Repeat("x", 1<<20)
	s.jobs.value[4].Job = "a\rb"
	s.jobs.value[5].Job = "a\u202eb"
	v := newView(s, "billing")
	if len(v.Jobs) != 997 || len(v.Problems) != 1 {
		t.Fatalf("%d jobs, problems %q", len(v.Jobs), v.Problems)
	}
	if text := fmt.Sprint(v.Problems[0]); len(text) > 200 || !strings.Contains(text, "3 of 1000") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

// The size of a page is bounded by the number of its rows and the length of its texts.
func TestPage_OfTheLongestTextsHasALimit(t *testing.T) {
	s := thousand(instant)
	long := strings.Repeat("\"", 1<<14) // a hundred rows with such texts would have more than 4 MiB
	s.leader.value.ID, s.leader.value.Value = long, long
	for i := range s.terms.value {
		s.terms.value[i].Replica = long
	}
	for i := range s.nodes {
		s.nodes[i].Version = long
	}
	for i := range s.jobs.value {
		j := &s.jobs.value[i]
		j.Job = fmt.Sprintf("%04d%s", i, long[:196])
		j.Spec, j.Zone, j.Own, j.Reason = long, long, long, long
		j.Last.Job, j.Last.Err, j.Last.Replica, j.Last.State = j.Job, long, long, scheduler.State(long)
	}
	body, err := render(newView(s, "billing"), query{Page: 1, Filter: long[:maxFilter], Only: "trouble"})
	if err != nil || len(body) > 4<<20 {
		t.Errorf("%v, %d KiB", err, len(body)>>10)
	}
}

func TestHistories_AreLimited(t *testing.T) {
	h := histories{jobs: make(map[string]*requested)}
	now := instant
	for i := range 3 * maxHistories {
		now = now.Add(time.Millisecond)
		h.of(fmt.Sprint(i), now)
		h.of("kept", now)
	}
	if len(h.jobs) != maxHistories || h.jobs["kept"] == nil || h.jobs[fmt.Sprint(3*maxHistories-1)] == nil {
		t.Errorf("%d jobs' histories", len(h.jobs))
	}
}

func TestZones_AreReadOnceAndLimited(t *testing.T) {
	z := zoneCache{known: make(map[string]*time.Location)}
	if berlin := z.named("Europe/Berlin"); berlin.String() != "Europe/Berlin" || z.named("Europe/Berlin") != berlin {
		t.Error("it is not the same zone")
	}
	for i := range maxZones + 10 {
		if z.named(fmt.Sprint("none/", i)) != time.UTC {
			t.Fatal("there is none such")
		}
	}
	if len(z.known) > maxZones {
		t.Errorf("%d zones", len(z.known))
	}
}
