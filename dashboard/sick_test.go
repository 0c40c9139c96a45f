package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

const (
	jobsKey = "{redlock}:jobs:test"
	runsKey = "{redlock}:runs:test:long"
)

// Somebody, or another program, has written invalid data to the nodes. The other jobs are shown, and the broken one
// says why.
func TestPage_ASickJobSpoilsNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		write func(ctx context.Context, n redis.UniversalClient) error
		why   string // on the job's page
	}{
		"a state": {func(ctx context.Context, n redis.UniversalClient) error {
			return n.HSet(ctx, jobsKey, "long", "x").Err()
		}, "cannot be read"},
		"runs of another type": {func(ctx context.Context, n redis.UniversalClient) error {
			if err := n.Del(ctx, runsKey).Err(); err != nil {
				return err
			}
			return n.Set(ctx, runsKey, "x", 0).Err()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, func(t *testing.T, s *service) {
				s.stop(s.follower)
				s.stop(s.leader)        // it would overwrite the invalid data
				time.Sleep(time.Second) // the slowest node has its last write then
				for _, client := range s.nodes.Process().Clients() {
					want.NoError(t, c.write(t.Context(), client))
				}
				time.Sleep(10 * time.Second)
				a := s.api()
				if len(a.Jobs) != 4 || a.Jobs[3].Name != "long" || a.Jobs[2].Last == nil || len(a.Problems) > 0 {
					t.Fatalf("jobs %+v, problems %q", a.Jobs, a.Problems)
				}
				sick := a.Jobs[3]
				if !strings.Contains(sick.Why, c.why) || c.why != "" && !sick.WhyTick.IsZero() {
					t.Errorf("it is so because of %q, tick %v", sick.Why, sick.WhyTick)
				}
				want.Parts(t, "the page", s.get("/").Body.String(), ">good<", ">long<", c.why)
				for _, job := range []string{"good", "long"} {
					path := "?name=" + url.QueryEscape(job)
					for _, at := range []string{"/job", "/api"} {
						if w := s.get(at + path); w.Code != http.StatusOK {
							t.Errorf("%s%s: %d: %s", at, path, w.Code, w.Body)
						}
					}
				}
				if good := s.job("good"); len(good.Problems) > 0 || len(good.Records) == 0 {
					t.Errorf("another job has the problems %q and %d records", good.Problems, len(good.Records))
				}
				want.Parts(t, "the sick job's page", s.get("/job?name=long").Body.String(), c.why)
			})
		})
	}
}
