package dashboard_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// What this process knows about itself is newer than what it has read.
func TestPage_KnowsAtOnceThatItsOwnReplicaLeadsOrHasStopped(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		next := s.page
		s.get("/") // the page of the next leader has read who leads
		s.stop(s.follower)
		s.page = dashboard.Handler(s.leader.Elector, s.leader.Scheduler)
		want.Parts(t, "the leader's page", s.get("/").Body.String(), `<span class="quiet">leads</span>`)
		s.stop(s.leader)
		lacks(t, "its page, a moment later", s.get("/").Body.String(), `<span class="quiet">leads</span>`)
		s.follower.Lead()
		s.page = next
		if a := s.api(); a.Leader == nil || a.Leader.ID != s.follower.Elector.Identity() || a.Leader.Expired {
			t.Errorf("on the page of the next leader, the leader is %+v", a.Leader)
		}
	})
}

// A leader that drains keeps its lease, and its runs go on.
func TestPage_OfALeaderThatDrains(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.page = dashboard.Handler(s.leader.Elector, s.leader.Scheduler)
		s.api()
		var stopping sync.WaitGroup
		stopping.Go(func() { s.stop(s.leader) })
		time.Sleep(6 * time.Second)
		a := s.api()
		if long := a.Jobs[3]; a.Replica.State != string(election.StateDraining) || a.Leader.Expired || !long.Running || long.Last.State != "running" {
			t.Errorf("%+v, %+v, %+v", a.Replica, a.Leader, long)
		}
		stopping.Wait()
	})
}

func TestTimeline_ShowsWhenNobodyLed(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.stop(s.follower)
		s.stop(s.leader)
		ended := time.Now()
		time.Sleep(2 * time.Minute)
		if a := s.api(); len(a.Leaderless) != 1 || a.Leaderless[0].To.Sub(a.Leaderless[0].From) < 119*time.Second {
			t.Errorf("nobody leads, and it says %+v", a.Leaderless)
		}
		s.leader.Lead()
		time.Sleep(time.Minute)
		s.leader.Cut() // the term is lost, and its leader cannot record its end
		s.follower.Lead()
		time.Sleep(time.Minute)
		a := s.api()
		if len(a.Leaderless) != 2 || len(a.Terms) != 3 {
			t.Fatalf("%+v, %+v", a.Leaderless, a.Terms)
		}
		lost, stopped := a.Leaderless[0], a.Leaderless[1]
		if off := stopped.From.Sub(ended).Abs(); !stopped.Sure || off > time.Second || stopped.To.Sub(stopped.From) < 2*time.Minute {
			t.Errorf("it ended at %v, and nobody led: %+v", ended, stopped)
		}
		if long := lost.To.Sub(lost.From); lost.Sure || long < time.Second || long > ttl+time.Minute {
			t.Errorf("the one that was lost: %+v, %v", lost, long)
		}
		want.Parts(t, "the page", s.get("/").Body.String(), `class="vacant"`, `class="vacant unsure"`, "no leader from",
			"no leader is known from", ", end not recorded", " without a leader")
	})
}

func TestPage_SaysWhatNeedsAttention(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.follower.Cut(2)
		want.NoError(t, s.leader.Scheduler.Pause(t.Context(), "a/b?c=d&e", scheduler.By("ann"), scheduler.Because("moving <the> ledger")))
		time.Sleep(2 * time.Minute)
		body := s.get("/").Body.String()
		_, list, _ := strings.Cut(body, `id="attention"`)
		list, _, _ = strings.Cut(list, "</section>")
		want.Parts(t, "what needs attention", list, "</a> failed 3 times in a row: &lt;img src=x onerror=alert(2)&gt;",
			"has been running for 3 min", "it is still running at its next tick", "node 127.0.0.1:7003 does not count: ",
			"paused by ann on replica-1: moving &lt;the&gt; ledger")
		if strings.Index(list, "failed 3") > strings.Index(list, "has been running for") ||
			strings.Index(list, "node 127") > strings.Index(list, "paused by") {
			t.Error("it is in another order")
		}
		lacks(t, "what needs attention", list, ">good<")
		for _, j := range s.api().Jobs {
			if paused := j.Name == "a/b?c=d&e"; paused != (j.Pause != nil) || paused && (j.Pause.By != "ann" || j.Pause.Reason == "") {
				t.Errorf("%s: %+v", j.Name, j.Pause)
			}
		}
		want.Parts(t, "the job's page", s.get("/job?name="+url.QueryEscape("a/b?c=d&e")).Body.String(),
			"Paused by ann on replica-1: moving &lt;the&gt; ledger, 2 min ago", `<td data-label="Reason">moving &lt;the&gt; ledger</td>`)
	})
}

func TestPage_ShowsErrorsAsTextBesideTheirJobsAndFailuresOnly(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		page := s.get("/").Body.String()
		_, table, _ := strings.Cut(page, `<table class="jobs">`)
		want.Parts(t, "the table of jobs", table, `<span class="sub err">&lt;img src=x onerror=alert(2)&gt;</span>`,
			`href="job?name=a%2fb%3fc%3dd%26e"`)
		if runs := decode[answer](s, "/api?only=failed").Runs; len(runs) != 1 || runs[0].State != "failed" {
			t.Errorf("failures are %+v", runs)
		}
		lacks(t, "the page of failures", s.get("/?only=failed").Body.String(), `href="job?name=good"`)
		bad := "/job?name=" + url.QueryEscape("bad <script>alert(1)</script>")
		of := s.get(bad).Body.String()
		want.Parts(t, "the page of a job that fails", of, "00:01:00 UTC</time>, failed: &lt;img", "&lt;script&gt;alert(1)&lt;/script&gt;")
		lacks(t, "what jobs say", page+of, "<script>alert", "<img src=x", "second line")
		want.Parts(t, "another page", s.get("/job?name=a%2fb%3fc%3dd%26e").Body.String(), `<h1><span class="name">a/b?c=d&amp;e</span>`)
		body := s.get("/job?name=good&only=failed").Body.String()
		want.Parts(t, "the failures of a job without any", body, "None of the newest 1 failed.")
		lacks(t, "the failures of a job without any", body, "state ok")
	})
}

func TestPage_ListsTheReplicasThatHaveLed(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		s.stop(s.leader)
		s.follower.Lead()
		third := s.nodes.Replica(election.WithHooks(termlog.Hooks()))
		s.page = dashboard.Handler(third.Elector, third.Scheduler)
		time.Sleep(time.Minute)
		var got []string
		for _, r := range s.api().Replicas {
			got = append(got, r.ID+" "+r.State)
		}
		if text := strings.Join(got, ", "); text != "replica-2 leading, replica-1 led, replica-3 stopped" {
			t.Errorf("replicas: %s", text)
		}
		want.Parts(t, "the page", s.get("/").Body.String(), "its Elector.Run is not running", "not leading")
	})
}
