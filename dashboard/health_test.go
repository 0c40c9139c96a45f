package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// What Check says stands first, although a job fails.
func TestPage_TheProblemsOfThisReplicaStandFirst(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		want.NoError(t, s.follower.Scheduler.Add(scheduler.Job{Name: "invoices", Spec: "@daily", Run: jobs()[0].Run}))
		time.Sleep(15 * time.Minute)
		err := s.follower.Elector.Check()
		want.Text(t, err, "does not have 1 of the 5 jobs of this process, so they do not run: invoices")
		if check := s.api().Replica.Check; len(check) != 1 || check[0] != err.Error() {
			t.Errorf("check is %q", check)
		}
		_, attention, _ := strings.Cut(s.get("/").Body.String(), `id="attention"`)
		first, _, _ := strings.Cut(attention, "</li>")
		want.Parts(t, "the first notice", first, `class="replica"`, "invoices", "10 min ago")
	})
}
