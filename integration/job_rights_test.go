//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
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
			closeAfter(t, func() error { return q.Close(context.Background()) })
			list := fmt.Sprintf("%012d 001", ttl.Milliseconds())
			err := useJobs(t, jobstore.New(jobstore.Config{Quorum: q, Prefix: "redlock", Election: user, List: list}))
			if right == "none" && err != nil || right != "none" && (err == nil || !denied.MatchString(err.Error())) {
				t.Errorf("got %v", err)
			}
			if asked := denials(t, server, user) > 0; asked == (right == "none") {
				t.Errorf("it asked for what it may not: %v", asked)
			}
		})
	}
}

// useJobs makes every request that jobs need. It makes enough runs that the oldest rows of the history are dropped.
func useJobs(t *testing.T, s *jobstore.Store) error {
	t.Helper()
	const job, ticks = "report", 62
	ctx := t.Context()
	leader := jobstore.Leader{Token: 1, Replica: "me"}
	ballot := jobstore.NewBallot(time.Now())
	_, err := s.Prepare(ctx, ballot, leader, []string{job})
	if errors.Is(err, jobstore.ErrYoung) { // a young node serves only later ballots
		time.Sleep(jobstore.Ahead)
		ballot = jobstore.NewBallot(time.Now())
		_, err = s.Prepare(ctx, ballot, leader, []string{job})
	}
	if err != nil {
		return err
	}
	var errs []error
	for i := range ticks {
		now := time.Now()
		follows := jobstore.At{Ballot: ballot, Seq: i}
		if i == 10 {
			follows.Seq-- // for the leader, the write before has failed
		}
		row := jobstore.Record{Slot: jobstore.Slot{At: now}, ID: fmt.Sprint("run", i), State: jobstore.StateOK, Start: now, End: now}
		written, _ := s.Write(ctx, ballot, i+1, []*jobstore.Write{{
			Job: job, Follows: follows, State: jobstore.State{Since: now, Plan: "CRON_TZ=UTC 0 0 * * * *", Mark: now},
			Ended: []jobstore.Record{row},
		}}, func(int, []int, int) {})
		errs = append(errs, written...)
	}
	_, pollErr := s.Poll(ctx, ballot, true, nil)
	_, triggerErr := s.Trigger(ctx, job, jobstore.Origin{By: "me", From: "here"})
	_, pauseErr := s.Pause(ctx, job, jobstore.Origin{By: "me", From: "here"})
	_, pageErr := s.Page(ctx, "", 10)
	rows, historyErr := s.History(ctx, job, 100)
	if historyErr == nil && len(rows) >= ticks {
		errs = append(errs, fmt.Errorf("%d rows are kept", len(rows)))
	}
	other := jobstore.NewBallot(time.Now()) // of a leader without the job
	_, promiseErr := s.Prepare(ctx, other, jobstore.Leader{Token: 2, Replica: "other"}, nil)
	_, settledErr := s.Poll(ctx, other, true, nil)
	forgetErr := s.Forget(ctx, job, time.Minute)
	errs = append(errs, pollErr, triggerErr, pauseErr, pageErr, historyErr, promiseErr, settledErr, forgetErr)
	return errors.Join(errs...)
}
