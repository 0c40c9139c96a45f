package main

// mutations are the ways in which the promises would be broken most easily.
var mutations = []mutation{
	{
		name: "validity counts from the reply",
		file: "redlock/acquire.go",
		edits: []edit{{
			"	t := l.count(round.Answers())\n	if t.yes < l.need {\n		l.clean(round, r, encoded)",
			"	valid.sent = time.Now()\n	t := l.count(round.Answers())\n	if t.yes < l.need {\n		l.clean(round, r, encoded)",
		}},
		pkg: "./redlock", test: "TestTryAcquire_ValidityCountsFromTheSend",
	},
	{
		name: "extension counts from the reply",
		file: "redlock/extend.go",
		edits: []edit{{
			"	t := k.count(round.Answers())", "	valid.sent = time.Now()\n	t := k.count(round.Answers())",
		}},
		pkg: "./redlock", test: "TestTryAcquire_ValidityCountsFromTheSend",
	},
	{
		name:  "drift is not subtracted",
		file:  "redlock/validity.go",
		edits: []edit{{"v.sent.Add(v.ttl - allowance(v.ttl, v.drift))", "v.sent.Add(v.ttl)"}},
		pkg:   "./redlock", test: "TestTryAcquire_ValidityCountsFromTheSend",
	},
	{
		name:  "late answers are not settled",
		file:  "redlock/janitor.go",
		edits: []edit{{"	j.first = append(j.first, left)\n", ""}},
		pkg:   "./redlock", test: "TestTryAcquire_EveryMixOfNodes|TestLease_GrantAfterTheRelease",
	},
	{
		name:  "one release settles a grant that was not answered",
		file:  "redlock/janitor.go",
		edits: []edit{{"		if !left.sure {", "		if false {"}},
		pkg:   "./redlock", test: "TestTryAcquire_EveryMixOfNodes|TestLease_GrantAfterTheRelease",
	},
	{
		name:  "a release does not wait for the node's grant",
		file:  "redlock/release.go",
		edits: []edit{{"k.quorum.AskAfter(ctx, call, k.decided, l.afterSets)", "k.quorum.Ask(ctx, call, k.decided)"}},
		pkg:   "./redlock", test: "TestLease_ReleaseDoesNotOvertake",
	},
	{
		name:  "a release does not wait for the node's repair",
		file:  "redlock/repair.go",
		edits: []edit{{"if repair := repairs[node]; repair != nil {", "if repair := repairs[node]; repair == nil && repair != nil {"}},
		pkg:   "./redlock", test: "TestLease_ReleaseDoesNotOvertake",
	},
	{
		name:  "nodes that lost the lock are not repaired",
		file:  "redlock/extend.go",
		edits: []edit{{"	l.repair(round)\n", ""}},
		pkg:   "./redlock", test: "TestLease_ExtensionRepairs",
	},
	{
		name:  "a lost lease is repaired",
		file:  "redlock/extend.go",
		edits: []edit{{"	if t.yes < k.need {\n", "	l.repair(round)\n	if t.yes < k.need {\n"}},
		pkg:   "./redlock", test: "TestLease_IsNeverAcquiredAnew",
	},
	{
		name:  "release removes whatever is there",
		file:  "redlock/release.lua",
		edits: []edit{{"if holder ~= ARGV[1] then", "if false then"}},
		pkg:   "./redlock", test: "TestLease_ReleaseRemovesOnlyItsOwn",
	},
	{
		name:  "extension prolongs whatever is there",
		file:  "redlock/extend.lua",
		edits: []edit{{"if holder ~= ARGV[1] then", "if false then"}},
		pkg:   "./redlock", test: "TestLease_LostOnAMajorityEndsAtOnce",
	},
	{
		name:  "a retried grant counts twice",
		file:  "redlock/acquire.lua",
		edits: []edit{{"  return {1, tonumber(redis.call('GET', KEYS[2]) or '0')}", "  return {1, redis.call('INCR', KEYS[2])}"}},
		pkg:   "./redlock", test: "TestTryAcquire_CountsItsOwnGrant",
	},
	{
		name:  "the fence is not raised",
		file:  "redlock/acquire.go",
		edits: []edit{{"	if t.uneven {", "	if false {"}},
		pkg:   "./redlock", test: "TestAcquire_TokensIncrease",
	},
	{
		name:  "an attempt that was cut short hides the outcome before it",
		file:  "redlock/acquire.go",
		edits: []edit{{"		if ctx.Err() == nil || last == nil {\n			last = err\n		}\n", "		last = err\n"}},
		pkg:   "./redlock", test: "TestAcquire_EndedByItsContext",
	},
	{
		name:  "a minority is enough",
		file:  "internal/quorum/quorum.go",
		edits: []edit{{"return len(q.nodes)/2 + 1", "return max(1, len(q.nodes)/2)"}},
		pkg:   "./redlock", test: "TestTryAcquire_EveryMixOfNodes",
	},
	{
		name:  "the fan-out waits for its client",
		file:  "internal/quorum/quorum.go",
		edits: []edit{{"	case <-r.ctx.Done():\n", "	case <-make(chan struct{}):\n"}},
		pkg:   "./internal/quorum", test: "TestNode_ThatHangs",
	},
	{
		name:  "a node that does not answer is asked four times at once",
		file:  "internal/quorum/node.go",
		edits: []edit{{"	if n.silent {", "	if false {"}},
		pkg:   "./internal/quorum", test: "TestNode_ThatDoesNotAnswer",
	},
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
