package scheduler

import (
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// newQueue has a job named after each spec.
func newQueue(t *testing.T, now time.Time, specs ...string) (*queue, map[string]*job) {
	t.Helper()
	jobs := map[string]*job{}
	for _, spec := range specs {
		schedule, err := Parse(spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		jobs[spec] = &job{Job: Job{Name: spec}, schedule: schedule}
	}
	q := new(queue)
	q.sync(jobs, now)
	return q, jobs
}

// ticks returns the ticks due as "spec time", sorted.
func (q *queue) ticks(now time.Time) []string {
	var ticks []string
	for _, d := range q.take(now) {
		ticks = append(ticks, d.job.Name+" "+d.tick.Format(time.TimeOnly))
	}
	slices.Sort(ticks)
	return ticks
}

func TestQueue_TakesEachTickOnce(t *testing.T) {
	q, jobs := newQueue(t, noon, "@every 10s", "@every 15s", "@every 1h")
	want := map[int][]string{
		10: {"@every 10s 12:00:10"}, 15: {"@every 15s 12:00:15"}, 20: {"@every 10s 12:00:20"},
		30: {"@every 10s 12:00:30", "@every 15s 12:00:30"},
		40: {"@every 10s 12:00:40"}, 45: {"@every 15s 12:00:45"},
	}
	for second := range 50 {
		now := noon.Add(time.Duration(second) * time.Second)
		if got := q.ticks(now); !slices.Equal(got, want[second]) {
			t.Errorf("at second %d: got %v, want %v", second, got, want[second])
		}
		q.sync(jobs, now) // what it had keeps its place
	}
}

func TestQueue_ClockSetBackRepeatsNoTick(t *testing.T) {
	q, jobs := newQueue(t, noon, "@every 10s")
	q.ticks(noon.Add(time.Minute))
	q.sync(jobs, noon)
	for s := range 70 {
		now := noon.Add(time.Duration(s) * time.Second)
		if got := q.ticks(now); len(got) > 0 {
			t.Errorf("at %v again: %v", now, got)
		}
	}
	want := []string{"@every 10s 12:01:10"}
	if got := q.ticks(noon.Add(70 * time.Second)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestQueue_TakesTheNewestOfManyAndCountsTheRest(t *testing.T) {
	for _, test := range []struct {
		spec    string
		late    time.Duration
		tick    time.Time
		skipped int
	}{
		{"@every 10s", 10 * time.Second, noon.Add(10 * time.Second), 0},
		{"@every 10s", 39 * time.Second, noon.Add(30 * time.Second), 2},
		{"* * * * * *", 1001 * time.Second, noon.Add(1001 * time.Second), 1000},
		{"* * * * * *", 1002 * time.Second, noon.Add(1002 * time.Second), 1000},
		{"*/7 * * * * *", 50*365*24*time.Hour - time.Second,
			noon.Add(50*365*24*time.Hour - 4*time.Second), 1000},
		{"0-9 0 13 * * *", 300*24*time.Hour + time.Minute,
			noon.Add(299*24*time.Hour + time.Hour + 9*time.Second), 1000},
	} {
		q, _ := newQueue(t, noon, test.spec)
		got := q.take(noon.Add(test.late))
		if len(got) != 1 || !got[0].tick.Equal(test.tick) || got[0].skipped != test.skipped {
			t.Errorf("%s, %v late: got %v, want %v after %d skipped",
				test.spec, test.late, got, test.tick, test.skipped)
		}
		if got := q.take(noon.Add(test.late)); len(got) != 0 {
			t.Errorf("%s, %v late, once more: got %v", test.spec, test.late, got)
		}
	}
}

func TestQueue_JobWithoutAnotherTickLeaves(t *testing.T) {
	q := new(queue)
	jobs := map[string]*job{"job": {Job: Job{Name: "job"}, schedule: once(noon)}}
	q.sync(jobs, noon.Add(-time.Hour))
	if got := q.take(noon.Add(time.Hour)); len(got) != 1 || got[0].skipped != 0 || len(*q) != 0 {
		t.Errorf("got %v and %d entries", got, len(*q))
	}
	q.sync(jobs, noon)
	if len(*q) != 0 {
		t.Errorf("%d entries after a sync", len(*q))
	}
}

// once ticks at one instant.
type once time.Time

func (o once) Next(after time.Time) time.Time {
	if after.Before(time.Time(o)) {
		return time.Time(o)
	}
	return time.Time{}
}

func TestQueue_SyncTakesJobsInAndOut(t *testing.T) {
	q, jobs := newQueue(t, noon, "@every 10s", "@every 20s")
	_, others := newQueue(t, noon, "@every 20s", "@every 30s")
	others["@every 10s"] = jobs["@every 10s"]
	// @every 20s was removed and added again: what it is now has no past.
	q.sync(others, noon.Add(25*time.Second))
	want := []string{"@every 10s 12:00:30", "@every 30s 12:00:30"}
	if got := q.ticks(noon.Add(31 * time.Second)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(*q) != 3 {
		t.Errorf("%d entries, want 3", len(*q))
	}
}

func TestQueue_WaitsForTheNextTickThirtySecondsAtMost(t *testing.T) {
	q, _ := newQueue(t, noon, "@every 1h", "@every 45s")
	first := time.Unix(noon.Unix()/45*45+45, 0)
	for _, left := range []time.Duration{31, 30, 29, 1, 0} {
		left *= time.Second
		if got, want := q.wait(first.Add(-left)), min(left, 30*time.Second); got != want {
			t.Errorf("%v before a tick it waits %v", left, got)
		}
	}
	if got := new(queue).wait(noon); got != 30*time.Second {
		t.Errorf("without a job it waits %v", got)
	}
}
