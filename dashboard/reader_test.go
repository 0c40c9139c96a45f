package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// It opens one page, many and none, and compares the requests with those of the election and the jobs alone. The page of
// one job reads what the page of all jobs does, and the history of the job.
func TestReader_AsksTheNodesOnceInFiveSecondsForAllPagesAndNeverForNone(t *testing.T) {
	const path = "/events?name=good"
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		leader, mine := candidate(c)
		want.NoError(t, mine.Add(jobs()...))
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
		const long = 2 * time.Minute // more than a stream lasts
		none := in(long)
		var leave []func()
		_, left := s.listen(path) // the first commands of new connections are no reads
		in(time.Second)
		left()
		first, left := s.listen(path)
		one := in(long) - none
		if first.count() < 10 {
			t.Errorf("%d events in two minutes", first.count())
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
			t.Errorf("a page costs %d requests, want at most %d reads of %d", one, reads, each)
		}
		if many > one+one/4 {
			t.Errorf("20 pages cost %d requests, one costs %d", many, one)
		}
		if after > none+none/10 {
			t.Errorf("%d requests when nobody looks, %d before", after, none)
		}
	}, redlock.WithTTL(ttl))
}

// candidate is a process that may lead.
func candidate(c *bubble.Cluster) (*election.Elector, *scheduler.Scheduler) {
	locker, _ := c.Locker()
	elector, err := election.New(locker, "billing", election.WithHooks(termlog.Hooks()))
	want.NoError(c.T, err)
	jobs, err := scheduler.New(elector)
	want.NoError(c.T, err)
	return elector, jobs
}

// The page keeps the last known state, and shows how old it is and why.
func TestReader_KeepsWhatWasKnown(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		want.Parts(t, "the page", s.get("/").Body.String(), `<span class="quiet">leads</span>`, "state running")
		known, ticks := s.api(), s.job("long").Records
		s.follower.Cut(0, 1)
		time.Sleep(time.Minute / 2)
		s.job("long") // the ticks of a job that nobody looks at are forgotten after a minute
		time.Sleep(time.Minute / 2)
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
		long, good := s.job("long"), s.job("good")
		want.Parts(t, "the problems of a job that was looked at", strings.Join(long.Problems, "\n"),
			"the ticks of this job: as of 1 min ago: ", "quorum")
		if !slices.Equal(long.Records, ticks) {
			t.Errorf("records %+v, before %+v", long.Records, ticks)
		}
		want.Parts(t, "the problems of another", strings.Join(good.Problems, "\n"), "the ticks of this job: not known: ")
		if good.Records == nil || len(good.Records) > 0 {
			t.Errorf("records %+v, want an empty list", good.Records)
		}
		page := s.get("/job?name=good").Body.String()
		want.Parts(t, "its page", page, "The ticks of this job are not known", "It is not known what people did")
		lacks(t, "its page", page, "No tick has come yet", "Nobody has done anything", "0 runs")
		// The leader must have stopped when its lease expired, and its runs too.
		time.Sleep(ttl)
		a = s.api()
		if a.Leader == nil || !a.Leader.Expired || a.Leader.Lease != 0 || a.Jobs[3].Last.State != "unknown" {
			t.Errorf("the leader is %+v, the last run %+v", a.Leader, a.Jobs[3].Last)
		}
		for _, j := range a.Jobs {
			if j.Running || j.Last != nil && j.Last.State == "running" {
				t.Errorf("%s is said to run", j.Name)
			}
		}
		body = s.get("/").Body.String()
		want.Parts(t, "the page", body, "No leader is known", "led when the nodes were last read, 3 min ago", "state unknown",
			`<td data-label="Next">due `)
		lacks(t, "the page", body, "leads</span>", "★", "state running")
		lacks(t, "the job's page", s.get("/job?name=long").Body.String(), "state running", ">running<")
		s.follower.Heal()
		time.Sleep(10 * time.Second)
		if long := s.job("long"); len(long.Problems) > 0 || long.Records[0].Ticks <= ticks[0].Ticks {
			t.Errorf("problems %q, records %+v", long.Problems, long.Records)
		}
	})
}

func TestReader_ShowsTheHistoryOnThePageOfItsJobAlone(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		time.Sleep(time.Second) // a tick comes right now
		long := s.job("long")
		if n := len(long.Records); n != 2 || long.Records[1].State != "running" || long.Records[0].State != "skipped" || long.Records[0].Ticks != 8 {
			t.Errorf("records %+v", long.Records)
		}
		want.Parts(t, "the job's page", s.get("/job?name=long").Body.String(),
			"8 ticks not run", `<rect class="missed"`, "a run was under way", "The newest 50 rows of its history are shown")
		page := s.get("/").Body.String()
		want.Parts(t, "the page", page, ": 1 change of the leader. The last runs of the jobs: 3 runs, 1 of them failed, lost or interrupted, 1 tick not run.",
			`<rect class="term`)
		lacks(t, "the page of all jobs", page, "skipped")
	})
}

func TestReader_WithoutNodesFromTheBeginning(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.follower.Cut()
		a := s.api()
		if a.Leader != nil || len(a.Jobs) != 0 || len(a.Problems) != 3 {
			t.Errorf("%+v", a)
		}
		page := s.get("/").Body.String()
		want.Parts(t, "the page", page, "The leader is not known", ">not known<", "The jobs are not known", "The runs are not known",
			"Nothing is known of ")
		lacks(t, "the page", page, "No leader has had a job yet", "Nothing has run yet", "last known state")
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
