package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	parts "github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	weekOfHours  = 7 * 24
	monthOfHours = 31 * 24
	hourlyJobs   = 50
	untilServed  = 10 * time.Second // limit for nodes that have just started to keep jobs
)

// month measures what a node keeps of jobs that have ticked for a long time. The ticks are a millisecond apart, because
// their distance does not change what the node keeps.
func (b *bench) month(ctx context.Context) {
	b.lockers(ctx, 1) // the nodes grant locks
	locker := must(redlock.New(b.admins, redlock.WithTTL(ttl)))
	defer func() { check(locker.Close(ctx)) }()
	q := quorum.New(b.admins, b.cluster.Addrs(), quorum.Config{Timeout: time.Second, Now: time.Now})
	defer func() { check(q.Close(ctx)) }()
	name := nextName()
	w := writer{store: jobstore.New(jobstore.Config{
		Quorum: q, Prefix: "redlock", Election: name, List: parts.Of(locker).List,
	})}
	var jobs []string
	for i := range hourlyJobs {
		jobs = append(jobs, fmt.Sprint("job ", i))
	}
	w.prepare(ctx, jobs)
	start := time.Now()
	var week float64
	for i := range monthOfHours {
		w.tick(ctx, jobs, start, start.Add(time.Duration(1+i)*time.Millisecond))
		if i == weekOfHours {
			week = kept(ctx, b.admins[0], name) / hourlyJobs
		}
	}
	month := kept(ctx, b.admins[0], name) / hourlyJobs
	b.report.compare("a job on a node, KiB", month, week, month/week, "after a week of ticks")
}

// writer writes jobs as their leader does.
type writer struct {
	store  *jobstore.Store
	ballot jobstore.Ballot
	seq    int
}

// prepare waits until the nodes serve the writer.
func (w *writer) prepare(ctx context.Context, jobs []string) {
	ctx, cancel := context.WithTimeoutCause(ctx, untilServed, errors.New("the nodes do not serve a writer of jobs"))
	defer cancel()
	for {
		w.ballot = jobstore.NewBallot(0, time.Now())
		_, err := w.store.Prepare(ctx, w.ballot, jobstore.Leader{Token: 1, Replica: "pod-7f9c6d5b4-x2x4z/1"}, jobs)
		must(receive(ctx, time.After(settling))) // the slowest node has answered
		if err == nil {
			return
		}
	}
}

// tick opens one tick of all jobs and then writes the ends of its runs.
func (w *writer) tick(ctx context.Context, jobs []string, since, at time.Time) {
	open := jobstore.Open{
		Slot: jobstore.Slot{At: at}, ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Attempt: 1, Tries: 1, Token: 1,
		Replica: "pod-7f9c6d5b4-x2x4z/1", Start: at,
	}
	ended := jobstore.Record{
		Slot: open.Slot, ID: open.ID, Attempt: 1, Token: 1, State: jobstore.StateOK, Replica: open.Replica, Start: at,
		End: at.Add(time.Second),
	}
	state := jobstore.State{Since: since, Plan: "UTC 0 * * * *", Mark: at}
	opened := state
	opened.Open = []jobstore.Open{open}
	state.Last, state.LastOK = &ended, &ended
	w.write(ctx, jobs, jobstore.Write{State: &opened, Opens: true})
	w.write(ctx, jobs, jobstore.Write{State: &state, Ended: []jobstore.Record{ended}})
}

// write stores the same state for all jobs.
func (w *writer) write(ctx context.Context, jobs []string, what jobstore.Write) {
	var writes []*jobstore.Write
	for _, job := range jobs {
		one := what
		one.Job, one.Follows = job, jobstore.At{Ballot: w.ballot, Seq: w.seq}
		writes = append(writes, &one)
	}
	w.seq++
	errs, _ := w.store.Write(ctx, w.ballot, w.seq, writes, func(int, []int, int) {})
	check(errors.Join(errs...))
}
