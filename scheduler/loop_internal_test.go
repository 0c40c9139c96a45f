package scheduler

import (
	"maps"
	"slices"
	"testing"
)

// What a run of a removed job, or one that may yet start, means to a job added under the same name is kept until
// it means nothing more.
func TestLoop_ForgetsTheLanesOfRemovedJobs(t *testing.T) {
	names := []string{"asked for", "elsewhere", "idle", "running"}
	s := &Scheduler{jobs: make(map[string]*job)}
	for _, name := range names {
		s.jobs[name] = &job{Job: Job{Name: name}}
	}
	l := &loop{s: s, entries: make(map[string]*entry), lanes: make(map[string]*lane)}
	want := func(names ...string) {
		t.Helper()
		l.sync()
		if got := slices.Sorted(maps.Keys(l.lanes)); !slices.Equal(got, names) {
			t.Errorf("lanes of %q, want %q", got, names)
		}
	}
	want(names...)
	l.lanes["asked for"].claims = 1
	l.lanes["elsewhere"].foreign = true
	l.lanes["running"].runs = []*active{{}}
	want(names...)
	clear(s.jobs)
	want("asked for", "elsewhere", "running")
	l.lanes["asked for"].claims = 0
	l.lanes["running"].runs = nil
	want("elsewhere")
}
