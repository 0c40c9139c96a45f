package main

// ofHearing are mutations of what leaders make of what nodes tell them.
var ofHearing = []mutation{
	{
		name:  "a node that always answers last is never heard",
		file:  "internal/register/list.go",
		edits: []edit{{"call, r.allSettled(), func(", "call, r.oneSettled(), func("}},
		pkg:   "./scheduler", test: "TestLook_HearsOfASlowNode",
	},
	{
		name:  "a take-over that nodes were only told of is dropped",
		file:  "scheduler/claim.go",
		edits: []edit{{`case o.Taken && o.By.Run == "": //`, "case false: //"}},
		pkg:   "./scheduler", test: "TestTakeOver_OfARunThatNodesWereOnlyToldOf",
	},
	{
		name:  "a run by hand is asked for again that was claimed meanwhile",
		file:  "internal/register/set.go",
		edits: []edit{{`, what == "trigger" && past == s.Version:`, ":"}},
		pkg:   "./scheduler", test: "TestTrigger_FromFarAway",
	},
	{
		name: "a run that one node knows to have ended is lost",
		file: "internal/register/claim.go",
		edits: []edit{{
			"o.Taken = o.Taken || record.State == OK || record.State == Failed", "o.Taken = o.Taken || false",
		}},
		pkg: "./scheduler", test: "TestTakeOver_NotOfARunWhoseEnd",
	},
	{
		name:  "a vote for the take-over of a run that has ended stays",
		file:  "scheduler/claim.go",
		edits: []edit{{"case c.kind == takeOver && o.By.Ended():", "case false:"}},
		pkg:   "./scheduler", test: "TestTakeOver_NotOfARunThatHasEnded",
	},
	{
		name:  "what was under way when a quorum forgot is dropped",
		file:  "internal/register/state.go",
		edits: []edit{{"if known >= need && !entries[i].known {", "if !entries[i].known {"}},
		pkg:   "./scheduler", test: "TestLost_WhereAQuorumForgot",
	},
	{
		name:  "more changes than are told of at first are lost",
		file:  "internal/register/changes.lua",
		edits: []edit{{"and ARGV[3] or -1", "and ARGV[3] or ARGV[3]"}},
		pkg:   "./scheduler", test: "TestTrigger_OfVeryManyJobs",
	},
	{
		name:  "what people set goes by the clock that is furthest ahead",
		file:  "internal/register/read.go",
		edits: []edit{{"v.Time = nth(clocks, need, time.UnixMicro).UnixMicro()", "v.Time = slices.Max(clocks)"}},
		pkg:   "./scheduler", test: "TestControl_WithANodeWhoseClock",
	},
	{
		name: "what a node is told of many jobs is asked for one by one",
		file: "internal/register/admit.go",
		edits: []edit{{
			"wg.Go(func() { given[i], errs[i] = r.given(ctx, t, now) })", "given[i], errs[i] = r.given(ctx, t, now)",
		}},
		pkg: "./scheduler", test: "TestAdmission_OfManyJobs",
	},
	{
		name:  "a tick that one node has skipped is run",
		file:  "scheduler/claim.go",
		edits: []edit{{"if asked.skipped && ", "if false && "}},
		pkg:   "./scheduler", test: "TestSkip_ATickThatOneNode",
	},
	{
		name: "a node is told that a run is under way whose end it knows",
		file: "internal/register/admit.lua",
		edits: []edit{{
			"if not had or given > had then\n          redis.call('HSET', job, 'x:'", "if true then\n          redis.call('HSET', job, 'x:'",
		}},
		pkg: "./internal/register", test: "TestAdmit_TellsNotOfARunThatHasEnded",
	},
	{
		name:  "a run by hand that waited when a quorum forgot is dropped",
		file:  "internal/register/promise.go",
		edits: []edit{{"if t.known < need {\n\t\t// What waited", "if false {\n\t\t// What waited"}},
		pkg:   "./scheduler", test: "TestTrigger_WhileNobodyLeads",
	},
	{
		name:  "the end of a run is given up while its leader leads",
		file:  "scheduler/ledger.go",
		edits: []edit{{"if l.try(l.draining, job, record, true) == nil {\n\t\treturn nil\n\t}\n", ""}},
		pkg:   "./scheduler", test: "TestFinish_IsWrittenWhile",
	},
	{
		name: "Shutdown does not say that ends are not written",
		file: "scheduler/scheduler.go",
		edits: []edit{{
			`return fmt.Errorf("scheduler: all runs have returned, but not all of their ends are written: %w", context.Cause(ctx))`,
			"return nil",
		}},
		pkg: "./scheduler", test: "TestShutdown_SaysThatAnEnd",
	},
	{
		name:  "a tick of a job that was removed starts",
		file:  "scheduler/run.go",
		edits: []edit{{"if r.job.removed.Load() {", "if false {"}},
		pkg:   "./scheduler", test: "TestRemove_WhileItsTick",
	},
	{
		name:  "the leader forgets a pause that it knows of",
		file:  "scheduler/entry.go",
		edits: []edit{{"newer(pause, e.state.Pause), newer(trigger", "pause, newer(trigger"}},
		pkg:   "./scheduler", test: "TestPause_IsNotForgotten",
	},
	{
		name:  "as many records are told of as a node has",
		file:  "internal/register/read.go",
		edits: []edit{{"v.Records = v.Records[:min(len(v.Records), maxRecords)]", "_ = maxRecords"}},
		pkg:   "./scheduler", test: "TestHistory_HasNoMore",
	},
	{
		name: "what is known of removed jobs is kept",
		file: "scheduler/loop.go",
		edits: []edit{{
			"return l.entries[name] == nil && lane.isIdle()", "return l.entries[name] == nil && lane.isIdle() && false",
		}},
		pkg: "./scheduler", test: "TestLoop_ForgetsTheLanes",
	},
}
