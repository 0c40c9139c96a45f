package dashboard_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestReader_AsksTheNodesOnceInFiveSecondsForAllPagesAndNeverForNone(t *testing.T) {
	for name, path := range map[string]string{"of all jobs": "/events", "of one job": "/events?name=good"} {
		t.Run(name, func(t *testing.T) { countReads(t, path) })
	}
}

// countReads opens one page, many and none, and compares the requests with those of the election and the jobs alone.
func countReads(t *testing.T, path string) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		leader, mine := candidate(c)
		if err := mine.Add(jobs()...); err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		t.Cleanup(running.Wait)
		running.Go(func() { // ends with the test
			if err := leader.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		s := &service{t: t, page: dashboard.Handler(candidate(c))}
		in := func(d time.Duration) int {
			before := c.Asked()
			time.Sleep(d)
			synctest.Wait()
			return c.Asked() - before
		}
		const long = 10 * time.Minute
		none := in(long)
		var leave []func()
		_, left := s.listen(path) // the first commands of new connections are no reads
		in(long)
		left()
		first, left := s.listen(path)
		one := in(long) - none
		if first.count() < 10 {
			t.Errorf("%d events in ten minutes", first.count())
		}
		left()
		for i := range 20 {
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
			_, left := s.listen(path)
			leave = append(leave, left)
		}
		many := in(long) - none
		for _, left := range leave {
			left()
		}
		time.Sleep(5 * time.Second)
		after := in(long)
		// A stream lasts for a minute, and these browsers do not open another one.
		reads := int(time.Minute/(5*time.Second)) + 1
		const each = 3 * (4 + 9) // on each node, one for each job and nine others
		if one < reads || one > reads*each {
			t.Errorf("a page costs %d requests a minute, want at most %d reads of %d", one, reads, each)
		}
		if many > one+one/4 {
			t.Errorf("20 pages cost %d requests a minute, one costs %d", many, one)
		}
		if after > none+none/10 {
			t.Errorf("%d requests when nobody looks, %d before", after, none)
		}
	})
}

// candidate is a process that may lead.
func candidate(c *bubble.Cluster) (*election.Elector, *scheduler.Scheduler) {
	locker, _ := c.Locker()
	elector, err := election.New(locker, "billing")
	if err != nil {
		c.T.Fatal(err)
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		c.T.Fatal(err)
	}
	return elector, jobs
}

// The page keeps the last known state, and shows how old it is and why.
func TestReader_KeepsWhatWasKnown(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		known := s.api()
		s.follower.Cut(0, 1)
		time.Sleep(time.Minute)
		a := s.api()
		if len(a.Jobs) != len(known.Jobs) || a.Leader == nil || a.Leader.ID != known.Leader.ID || len(a.Problems) != 3 {
			t.Fatalf("leader %+v, %d jobs, problems %q", a.Leader, len(a.Jobs), a.Problems)
		}
		for _, p := range a.Problems {
			want.Parts(t, "a problem", p, "as of 1 min ago", "quorum")
		}
		if a.Nodes[0].Error == "" || a.Nodes[2].Error != "" {
			t.Errorf("nodes %+v", a.Nodes)
		}
		body := s.get("/").Body.String()
		want.Parts(t, "the page", body, `role="alert">Failed to read the leader, the jobs and the terms from the nodes: `+
			"1 of 3 nodes answer, 2 are needed", "as of 1 min ago<", "does not count")
		if n := strings.Count(body, `role="alert"`); n != 1 {
			t.Errorf("one cause is %d alerts", n)
		}
		s.follower.Heal()
		time.Sleep(10 * time.Second)
		if a := s.api(); len(a.Problems) != 0 {
			t.Errorf("problems %q", a.Problems)
		}
	})
}

func TestReader_WithoutNodesFromTheBeginning(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.follower.Cut()
		a := s.api()
		if a.Leader != nil || len(a.Jobs) != 0 || len(a.Problems) != 3 {
			t.Errorf("%+v", a)
		}
		want.Parts(t, "the page", s.get("/").Body.String(), "The leader is not known", ">not known<")
		for _, path := range []string{"/job?name=good", "/api?name=good", "/events?name=good"} {
			if w := s.get(path); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "not known") {
				t.Errorf("%s: %d: %s", path, w.Code, w.Body)
			}
		}
	})
}

// The client whose request started a read has left: the others still get the result.
func TestReader_GoesOnForTheOthers(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		time.Sleep(time.Minute) // nothing is fresh
		s.follower.Delay(50 * time.Millisecond)
		_, left := s.listen("/events")
		time.Sleep(60 * time.Millisecond)
		second, _ := s.listen("/events")
		time.Sleep(time.Millisecond)
		left()
		time.Sleep(2 * time.Second)
		if second.count() != 1 {
			t.Errorf("the second page got %d events", second.count())
		}
	})
}
