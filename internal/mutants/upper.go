package main

// ofElection are mutations of package election, and of the scheduler.
var ofElection = []mutation{
	{
		name:  "a term that may not start its callbacks goes on",
		file:  "election/term.go",
		edits: []edit{{"\tt.tooLate()\n\treturn false", "\treturn false"}},
		pkg:   "./election", test: "TestOnLeader_NoTermGoesOnWithout",
	},
	{
		name:  "a hook that panics leaves a leader behind",
		file:  "election/loop.go",
		edits: []edit{{"if !looked {", "if !looked && false {"}},
		pkg:   "./election", test: "TestHooks_OneThatDoesNotReturn",
	},
	{
		name:  "a follower that waits for another one of its process fails its check",
		file:  "election/loop.go",
		edits: []edit{{"e.beat = time.Time{}", "e.beat = time.Now().Add(2 * e.config.ttl)"}},
		pkg:   "./election", test: "TestCheck_IsNilForAFollower",
	},
	{
		name:  "what is for no election is accepted",
		file:  "fxmodule/helpers.go",
		edits: []edit{{"if p == nil {", "if false {"}},
		pkg:   "./fxmodule", test: "TestModule_RefusesWhatIsForNoElection",
	},
	{
		name:  "release before drain",
		file:  "election/loop.go",
		edits: []edit{{"	drained = e.drain(r, t)", "	_ = t.lease.Release(r.asked)\n	drained = e.drain(r, t)"}},
		pkg:   "./election", test: "TestOnLeader_SlowReturn|TestHandover_DrainTimeout",
	},
	{
		name:  "no renewal while draining",
		file:  "election/loop.go",
		edits: []edit{{"	drained = e.drain(r, t)", "	t.lease.Abandon()\n	drained = e.drain(r, t)"}},
		pkg:   "./election", test: "TestOnLeader_SlowReturnAfterVoluntaryEnd",
	},
	{
		name:  "renewals are not bounded",
		file:  "redlock/renew.go",
		edits: []edit{{"r.attempt < r.ext.Attempts", "r.attempt < 1000*r.ext.Attempts"}},
		pkg:   "./election", test: "TestKeep_RenewalAttemptsAreBounded",
	},
	{
		name:  "a callback registered in a term is called twice in it",
		file:  "election/callbacks.go",
		edits: []edit{{"		e.startLocked(c, t)\n	}\n	return func()", "		e.startLocked(c, t)\n		e.startLocked(c, t)\n	}\n	return func()"}},
		pkg:   "./election", test: "TestOnLeader_Registered",
	},
	{
		name:  "undrained work is released",
		file:  "election/loop.go",
		edits: []edit{{"		t.lease.Abandon()\n", "		_ = t.lease.Release(r.asked)\n"}},
		pkg:   "./election", test: "TestHandover_DrainTimeout",
	},
	{
		name:  "no stop timer",
		file:  "election/term.go",
		edits: []edit{{"c.AfterFunc(t.stopAt(), t.expire)", "c.AfterFunc(t.stopAt().Add(time.Hour), t.expire)"}},
		pkg:   "./election", test: "TestKeep_ContextIsDoneTheMargin",
	},
	{
		name:  "no stop margin",
		file:  "election/term.go",
		edits: []edit{{"return t.lease.Deadline().Add(-t.margin)", "return t.lease.Deadline()"}},
		pkg:   "./election", test: "TestKeep_ContextIsDoneTheMargin",
	},
	{
		name:  "a callback may run beside itself",
		file:  "election/loop.go",
		edits: []edit{{"	case <-idle.Done():\n	case <-r.asked.Done():\n		timeout", "	default:\n	case <-r.asked.Done():\n		timeout"}},
		pkg:   "./election", test: "TestOnLeader_SlowReturnAfterLoss",
	},
	{
		name:  "the cooldown is ignored",
		file:  "election/loop.go",
		edits: []edit{{"	_ = retry.Sleep(r.asked, pause) // the loop", "	_ = retry.Sleep(r.asked, 0) // the loop"}},
		pkg:   "./election", test: "TestHandover_Resigned",
	},
	{
		name:  "a panic that a handler takes needs no cooldown",
		file:  "election/loop.go",
		edits: []edit{{"	case panics > 0:\n", "	case false:\n"}},
		pkg:   "./election", test: "TestOnLeader_PanicsWithAHandler",
	},
	{
		name:  "a panic is swallowed",
		file:  "election/loop.go",
		edits: []edit{{"			panic(p)\n", ""}},
		pkg:   "./election", test: "Panic",
	},
	{
		name:  "a tenure has no end",
		file:  "election/loop.go",
		edits: []edit{{"	tenure := e.config.tenure()\n", "	var tenure <-chan time.Time\n"}},
		pkg:   "./election", test: "TestHandover_MaxTenure",
	},
	{
		name:  "a standby is as quick as the others",
		file:  "election/loop.go",
		edits: []edit{{"redlock.WithYield(e.config.standby)", "redlock.WithYield(0)"}},
		pkg:   "./election", test: "TestHandover_Standby",
	},
	{
		name:  "a lost lease does not end the term at once",
		file:  "election/term.go",
		edits: []edit{{"context.AfterFunc(lost, func() {", "context.AfterFunc(lost, func() {\n		<-time.After(2 * time.Second)\n		"}},
		pkg:   "./election", test: "TestKeep_StolenOrDeleted",
	},
	{
		name: "a renewal moves the deadline before it is confirmed",
		file: "redlock/extend.go",
		edits: []edit{{"	sent := l.clock.Now()\n", `	sent := l.clock.Now()
	for _, lease := range leases {
		_ = lease.prolong(validity{sent: sent, ttl: lease.ttl, drift: l.settings.Drift}.deadline())
	}
`}},
		pkg: "./election", test: "TestKeep_ContextIsDoneTheMargin",
	},
	{
		name:  "a lease that another holds is asked for again",
		file:  "redlock/extend.go",
		edits: []edit{{"cmp.Or(l.heldLocked(), err)", "cmp.Or(l.heldLocked(), ErrNoQuorum)"}},
		pkg:   "./election", test: "TestOnLeader_Loss",
	},
	{
		name: "whoever resigns ends the term that is the present one",
		file: "election/term.go",
		edits: []edit{
			{"func (t *Term) Resign(cause error) {\n", "func (t *Term) Resign(cause error) {\n	t = latest\n"},
			{"	lost := t.lease.Context()\n", "	lost := t.lease.Context()\n	latest = t\n"},
			{"type termKey struct{}\n", "type termKey struct{}\n\nvar latest *Term\n"},
		},
		pkg: "./election", test: "TestHandover_ResignEndsThisTermOnly",
	},
	{
		name:  "everybody is healthy",
		file:  "election/check.go",
		edits: []edit{{"	now := time.Now()\n", "	now := time.Time{}\n"}},
		pkg:   "./election", test: "TestCheck_SeesALeaderPast",
	},
	{
		name:  "any loop is healthy",
		file:  "election/check.go",
		edits: []edit{{"	case !beat.IsZero() && now.After(beat):", "	case false:"}},
		pkg:   "./election", test: "TestCheck_",
	},
	{
		name:  "a callback that registers after a sleep starts in a term that is over",
		file:  "election/callbacks.go",
		edits: []edit{{" && t.work.Err() == nil && t.fit() {", " && t.work.Err() == nil {"}},
		pkg:   "./election", test: "TestSuspension_",
	},
	{
		name:  "late registration is skipped",
		file:  "election/callbacks.go",
		edits: []edit{{"	if t := e.term; t != nil && t.work", "	if t := e.term; false && t.work"}},
		pkg:   "./election", test: "TestOnLeader_Registered",
	},
	{
		name:  "the stop timer stands still while the machine sleeps",
		file:  "election/term.go",
		edits: []edit{{"t.timer = c.AfterFunc(t.stopAt(), t.expire)", "t.timer = clock.New().AfterFunc(t.stopAt(), t.expire)"}},
		pkg:   "./election", test: "TestSuspension_",
	},
	{
		name:  "leadership is a flag",
		file:  "election/term.go",
		edits: []edit{{"return t.trusted.Err() == nil && time.Now().Before(t.Deadline())", "return t.trusted.Err() == nil"}},
		pkg:   "./election", test: "TestTerm_IsInvalid",
	},
}
