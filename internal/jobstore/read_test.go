package jobstore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// writeNamed stores empty states of jobs.
func (w *writer) writeNamed(names ...string) {
	w.c.T.Helper()
	var writes []*jobstore.Write
	for _, name := range names {
		writes = append(writes, &jobstore.Write{Job: name, State: &jobstore.State{Plan: name, Mark: w.c.Start}})
	}
	errs, _ := w.writeAll(writes...)
	for _, err := range errs {
		if err != nil {
			w.c.T.Fatal(err)
		}
	}
}

// pages returns the names of all jobs, page by page.
func (w *writer) pages(most int) (names []string, pages int) {
	w.c.T.Helper()
	for after := ""; ; pages++ {
		p, err := w.Page(context.Background(), after, most)
		if err != nil {
			w.c.T.Fatal(err)
		}
		for _, v := range p.Views() {
			if v.State.Plan != v.Job {
				w.c.T.Errorf("job %q has %+v", v.Job, v)
			}
			names = append(names, v.Job)
		}
		if after = p.Next; after == "" {
			return names, pages + 1
		}
	}
}

// Each of some jobs is known to only two nodes of three.
func TestPage_HasEveryJobOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare()
		var all []string
		for i := range 30 {
			name := fmt.Sprintf("job %02d:%%", i)
			all = append(all, name)
			a.links.Cut(i % 3)
			a.writeNamed(name)
			time.Sleep(timeout)
			a.links.Heal()
		}
		for _, most := range []int{1, 7, 30, 1000} {
			names, pages := a.pages(most)
			if !slices.Equal(names, all) {
				t.Errorf("pages of %d have %q", most, names)
			}
			if enough := 1 + 2*len(all)/most; pages > enough {
				t.Errorf("%d pages of %d", pages, most)
			}
		}
	})
}

func TestViews_OfTheLatestState(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		a.links.Cut(1)
		a.mustWrite(20 * time.Second)
		time.Sleep(timeout)
		a.links.Heal()
		a.links.Cut(2)
		views, _, err := a.Views(t.Context(), job, "another")
		if err != nil || len(views) != 1 || !views[0].State.Mark.Equal(c.Start.Add(20*time.Second)) {
			t.Errorf("it sees %+v, %v", views, err)
		}
		header, err := a.Header(t.Context(), job)
		if err != nil || header.Promised != a.ballot || header.Leader.Replica != "a" {
			t.Errorf("the leader is %+v, %v", header, err)
		}
		a.links.Cut(1)
		_, _, err = a.Views(t.Context(), job)
		want.Err(t, err, jobstore.ErrNoQuorum)
	})
}

func TestHistory_TheNewestOfAllNodes(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare(job)
		const runs = 100
		for i := range runs {
			at := c.Start.Add(time.Duration(i) * timeout / 2)
			record := jobstore.Record{
				Slot: jobstore.Slot{At: at}, ID: fmt.Sprint(i), Attempt: 1, State: jobstore.StateOK, Start: at, End: at.Add(time.Second),
			}
			a.links.Cut(i % 3)
			errs, _ := a.writeAll(&jobstore.Write{Job: job, State: &jobstore.State{}, Ended: []jobstore.Record{record}})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			time.Sleep(timeout)
			a.links.Heal()
		}
		for _, n := range []int{1, 20, 30} {
			records, err := a.History(t.Context(), job, n)
			if err != nil || len(records) != n {
				t.Fatalf("%d records: %v", len(records), err)
			}
			for i, r := range records {
				if r.ID != fmt.Sprint(runs-1-i) {
					t.Fatalf("record %d of %d is %+v", i, n, r)
				}
			}
		}
		for i := range 3 {
			if list, err := c.Node(i).List("{redlock}:runs:x:" + job); err != nil || len(list) > 60 {
				t.Errorf("node %d keeps %d records, %v", i, len(list), err)
			}
		}
	})
}

func TestForget_LeavesNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare(job)
		a.mustWrite(time.Since(c.Start) + time.Second)
		mark := time.Now().Add(time.Second).Truncate(time.Millisecond)
		for _, r := range []jobstore.Request{pause, trigger, cancel, rerun} {
			if _, err := b.Ask(t.Context(), job, r, nil); err != nil {
				t.Fatal(err)
			}
		}
		want.Err(t, b.Forget(t.Context(), job, time.Minute), jobstore.ErrInUse)
		b.mustPrepare("another")
		time.Sleep(timeout)
		want.Err(t, a.Forget(t.Context(), job, time.Minute), jobstore.ErrInUse) // b may have it too
		if _, err := b.Poll(t.Context(), b.ballot, jobstore.Settled, false, nil, nil); err != nil {
			t.Fatal(err)
		}
		a.links.Cut(2)
		want.NoError(t, a.Forget(t.Context(), job, time.Minute))
		a.links.Heal()
		if c.Node(2).HGet("{redlock}:jobs:x", job) == "" {
			t.Fatal("the node that was away has lost the job by itself")
		}
		if err := a.Forget(t.Context(), job, time.Minute); err != nil { // no node that it reaches first knows the job any more
			t.Fatal(err)
		}
		for i := range 3 {
			for _, key := range c.Node(i).Keys() {
				if fields, _ := c.Node(i).HKeys(key); len(fields) > 1 && key != "{redlock}" || key != "{redlock}" && key != "{redlock}:jobs:x" {
					t.Errorf("node %d has %s with %q", i, key, fields)
				}
			}
		}
		for _, p := range b.mustPrepare(job) { // ticks up to the mark must not be opened again
			if p.Err == nil && (p.Jobs[0].Kind != jobstore.None || !p.Floor.Equal(mark)) {
				t.Errorf("it knows %+v, with a floor of %v where the mark was %v", p.Jobs[0], p.Floor, mark)
			}
		}
		if err := a.Forget(t.Context(), job, time.Minute); err != nil {
			t.Errorf("of a job that is not known: %v", err)
		}
	})
}
