package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestHistory_IsOnThePageOfItsJob(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		time.Sleep(time.Second) // a tick comes right now
		long := s.job("long")
		if n := len(long.Records); n != 9 || long.Records[0].State != "running" || long.Records[n-1].State != "skipped" {
			t.Errorf("records %+v", long.Records)
		}
		want.Parts(t, "the job's page", s.get("/job?name=long").Body.String(),
			"8 ticks not run", `<rect class="missed"`, "a run was under way", "The newest 50 rows of its history are shown")
		page := s.get("/").Body.String()
		want.Parts(t, "the page", page, "In the last hour: 1 change of the leader.", `<rect class="term`)
		if strings.Contains(page, "skipped") || strings.Contains(page, `<rect class="missed"`) {
			t.Error("the page of all jobs has the ticks of one")
		}
	})
}

func TestHistory_IsKeptWhileTheNodesAreAway(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		known := s.job("long")
		s.follower.Cut(0, 1)
		time.Sleep(30 * time.Second)
		long, good := s.job("long"), s.job("good")
		want.Parts(t, "the problems of a job that was looked at", strings.Join(long.Problems, "\n"),
			"the ticks of this job: as of 30 s ago: ", "quorum")
		if len(long.Records) != len(known.Records) {
			t.Errorf("%d records, %d before", len(long.Records), len(known.Records))
		}
		want.Parts(t, "the problems of another", strings.Join(good.Problems, "\n"), "the ticks of this job: not known: ")
		if good.Records == nil || len(good.Records) > 0 {
			t.Errorf("records %+v, want an empty list", good.Records)
		}
		if problems := s.api().Problems; len(problems) != 3 {
			t.Errorf("the page of all jobs has the problems %q", problems)
		}
		s.follower.Heal()
		time.Sleep(10 * time.Second)
		if long := s.job("long"); len(long.Problems) > 0 || len(long.Records) <= len(known.Records) {
			t.Errorf("problems %q, %d records", long.Problems, len(long.Records))
		}
	})
}
