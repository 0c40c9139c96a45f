package main

// ofElection are mutations of package election, and of the scheduler.
var ofElection = []mutation{
	{
		name:  "release before drain",
		file:  "election/loop.go",
		edits: []edit{{"	drained = e.drain(r, t)", "	_ = lease.Release(r.asked)\n	drained = e.drain(r, t)"}},
		pkg:   "./election", test: "TestDrain_",
	},
	{
		name:  "no renewal while draining",
		file:  "election/loop.go",
		edits: []edit{{"	_ = e.renew(ctx, t, 0) // why it ended is seen below\n", "	<-ctx.Done()\n"}},
		pkg:   "./election", test: "TestDrain_KeepsTheLease",
	},
	{
		name:  "renewals are not bounded",
		file:  "election/loop.go",
		edits: []edit{{"t.Deadline(), e.config.attempts, e.pause()", "t.Deadline(), 1000*e.config.attempts, e.pause()"}},
		pkg:   "./election", test: "TestRun_RenewalsAreBounded",
	},
	{
		name:  "a callback registered in a term is called twice in it",
		file:  "election/callbacks.go",
		edits: []edit{{"		e.startLocked(c, e.term)\n	}\n	return func()", "		e.startLocked(c, e.term)\n		e.startLocked(c, e.term)\n	}\n	return func()"}},
		pkg:   "./election", test: "TestOnLeader_Registered",
	},
	{
		name:  "undrained work is released",
		file:  "election/loop.go",
		edits: []edit{{"		lease.Abandon()\n", "		_ = lease.Release(r.asked)\n"}},
		pkg:   "./election", test: "TestDrain_WorkThatDoesNotStop",
	},
	{
		name:  "no stop timer",
		file:  "election/term.go",
		edits: []edit{{"time.AfterFunc(time.Until(t.Deadline()), t.expire)", "time.AfterFunc(time.Hour, t.expire)"}},
		pkg:   "./election", test: "TestRun_ContextEndsTheMargin",
	},
	{
		name:  "no stop margin",
		file:  "election/term.go",
		edits: []edit{{"return t.lease.Deadline().Add(-t.margin)", "return t.lease.Deadline()"}},
		pkg:   "./election", test: "TestRun_ContextEndsTheMargin",
	},
	{
		name:  "a callback may run beside itself",
		file:  "election/loop.go",
		edits: []edit{{"	case <-idle.Done():\n	case <-r.asked.Done():\n		timeout", "	default:\n	case <-r.asked.Done():\n		timeout"}},
		pkg:   "./election", test: "TestOnLeader_NeverTwiceAtOnce",
	},
	{
		name: "no leader check in the scheduler",
		file: "scheduler/lane.go",
		edits: []edit{
			{"	case l.draining.Err() != nil:\n", "	case false:\n"},
			{"	case !l.term.Valid():\n", "	case l.term == nil:\n"},
		},
		pkg: "./scheduler", test: "TestTick_|TestStop_",
	},
	{
		name:  "runs are cut off when the leader is asked to stop",
		file:  "scheduler/lane.go",
		edits: []edit{{"context.WithCancelCause(l.term.Context())", "context.WithCancelCause(l.draining)"}},
		pkg:   "./scheduler", test: "TestStop_",
	},
	{
		name:  "the term ends under running runs",
		file:  "scheduler/loop.go",
		edits: []edit{{"	l.runs.Wait()\n", ""}},
		pkg:   "./scheduler", test: "TestStop_",
	},
	{
		name:  "leadership is a flag",
		file:  "election/term.go",
		edits: []edit{{"return t.trusted.Err() == nil && time.Now().Before(t.Deadline())", "return t.trusted.Err() == nil"}},
		pkg:   "./election", test: "TestTerm_IsInvalid",
	},
}
