//go:build unix

package integration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/register"
)

func TestJobRights_AreEnoughAndNoneTooMany(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server, all := admins(t, nodes.Addrs())[0], jobRights(t)
	for i, right := range append([]string{"none"}, aclLine(t, "")...) {
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			user := fmt.Sprint("user", i)
			setUser(t, server, user, without(all, right))
			q := quorum.New([]redis.UniversalClient{clientAs(t, user, "pw", nodes.Addrs()[0])}, nodes.Addrs(),
				quorum.Config{Timeout: longTimeout, Now: time.Now})
			list := fmt.Sprintf("%012d 001", ttl.Milliseconds())
			err := useJobs(t, register.New(register.Config{Quorum: q, Prefix: "redlock", Election: user, List: list}))
			if right == "none" && err != nil || right != "none" && (err == nil || !denied.MatchString(err.Error())) {
				t.Errorf("got %v", err)
			}
			if asked := denials(t, server, user) > 0; asked == (right == "none") {
				t.Errorf("it asked for what it may not: %v", asked)
			}
		})
	}
}

// useJobs does everything that is asked of a node for jobs; more than so many ticks have the oldest forgotten.
func useJobs(t *testing.T, r *register.Register) error {
	t.Helper()
	const job, ticks = "report", 62
	ctx := t.Context()
	p := r.Promise(ctx, 1, time.Now(), []register.Plan{{Job: job, Text: "CRON_TZ=UTC @hourly"}})[0]
	if p.Err != nil {
		return p.Err
	}
	time.Sleep(time.Until(p.Mark))
	var errs []error
	for i := range ticks {
		record := register.Record{
			Slot: register.Slot{At: p.Mark.Add(time.Duration(i+1) * time.Millisecond)}, Run: fmt.Sprint("run", i), Attempt: 1,
			Token: 1, State: register.Claimed,
		}
		errs = append(errs, r.Claim(ctx, 1, p.Memories, []register.Claim{{Job: job, Record: record}})[0].Err)
		record.State = register.OK
		errs = append(errs, r.Finish(ctx, []register.End{{Job: job, Record: record, Own: true}})...)
	}
	_, triggerErr := r.Trigger(ctx, job, "me")
	_, pauseErr := r.Pause(ctx, job, "me", true)
	_, namesErr := r.Names(ctx)
	_, changesErr := r.Changes(ctx, nil)
	v, readErr := r.Read(ctx, job)
	if readErr == nil && len(v.Records) >= ticks {
		errs = append(errs, fmt.Errorf("%d records are kept", len(v.Records)))
	}
	return errors.Join(append(errs, triggerErr, pauseErr, namesErr, changesErr, readErr)...)
}
