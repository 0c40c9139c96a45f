package dashboard_test

import (
	"context"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// What Check says stands first on the page of the replica that has the problem, although a job fails.
func TestPage_TheProblemsOfThisReplicaStandFirst(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(t *testing.T, s *service) (of *redlocktest.Replica)
		says  string
	}{
		"the leader lacks its jobs": {func(t *testing.T, s *service) *redlocktest.Replica {
			want.NoError(t, s.follower.Scheduler.Add(scheduler.Job{Name: "invoices", Spec: "@daily", Run: jobs()[0].Run}))
			return s.follower
		}, "does not have 1 of the 5 jobs of this process, so they do not run: invoices"},
		"it leads without a scheduler": {func(t *testing.T, s *service) *redlocktest.Replica {
			want.NoError(t, s.follower.Scheduler.Shutdown(t.Context()))
			s.stop(s.leader)
			return s.follower
		}, "shut down, and this process leads, so no job ticks anywhere"},
		"the nodes' clocks are apart": {func(t *testing.T, s *service) *redlocktest.Replica {
			for node := range 3 {
				s.nodes.Jump(node, time.Duration(node)*time.Hour)
			}
			return s.follower
		}, "nobody can lead because of the nodes' clocks: synchronize them"},
		"too few nodes serve the jobs": {func(t *testing.T, s *service) *redlocktest.Replica {
			for _, client := range s.nodes.Process().Clients()[:2] {
				want.NoError(t, client.Del(t.Context(), jobsKey).Err(), client.Set(t.Context(), jobsKey, "not a hash", 0).Err())
			}
			return s.leader
		}, "3 of its 4 jobs do not run: see to the nodes, too few of them store the state of these jobs"},
		"a hook hangs": {func(t *testing.T, s *service) *redlocktest.Replica {
			s.hangs.Store(true)
			t.Cleanup(func() { s.hangs.Store(false) })
			return s.leader
		}, "a hook or the logger has not returned for"},
		"its Locker is closed": {func(t *testing.T, s *service) *redlocktest.Replica {
			_ = s.leader.Elector.Locker().Close(t.Context()) // it says that the lease is abandoned
			return s.leader
		}, "cannot lead any more"},
		"the leader does not start the ticks": {func(t *testing.T, s *service) *redlocktest.Replica {
			s.stop(s.follower)
			s.stop(s.leader)
			s.nodes.Replica().Lead() // it has no jobs
			s.follower.Run()
			return s.follower
		}, "does not start the ticks of 3 of the 4 jobs of this process"},
		"work outlives its lease": {func(t *testing.T, s *service) *redlocktest.Replica {
			free := make(chan struct{})
			t.Cleanup(func() { close(free) })
			s.leader.Elector.OnLeader(func(context.Context) { <-free })
			s.leader.Cut()
			return s.leader
		}, "still running: "},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, func(t *testing.T, s *service) {
				replica := test.begin(t, s)
				time.Sleep(15 * time.Minute)
				err := replica.Elector.Check()
				want.Text(t, err, test.says)
				s.page = dashboard.Handler(replica.Elector, replica.Scheduler)
				check := s.api().Replica.Check
				if len(check) != 1 || err == nil || !strings.HasPrefix(err.Error(), strings.TrimSuffix(check[0], "…")) {
					t.Errorf("check is %q, want %v", check, err)
				}
				_, attention, _ := strings.Cut(s.get("/").Body.String(), `id="attention"`)
				first, _, _ := strings.Cut(attention, "</li>")
				want.Parts(t, "the first notice", html.UnescapeString(first), `class="replica"`, test.says)
			})
		})
	}
}
