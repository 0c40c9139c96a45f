package main

// ofTools are mutations of the modules beside this one.
var ofTools = []mutation{
	{
		name:  "a paused leader is counted",
		file:  "otelredlock/election.go",
		edits: []edit{{"term != nil && term.Valid()", "term != nil"}},
		pkg:   "./otelredlock", test: "TestLeader_",
	},
	{
		name:  "a job without a good run has no series",
		file:  "otelredlock/jobs.go",
		edits: []edit{{"		i.runs.Add(context.Background(), 0, j.add[ok]...)\n", ""}},
		pkg:   "./otelredlock", test: "TestRuns_|TestTicks_",
	},
	{
		name:  "attempts at a tick are not linked",
		file:  "otelredlock/span.go",
		edits: []edit{{"[]byte(run.Key())", "[]byte(run.Key() + string(rune(run.Attempt)))"}},
		pkg:   "./otelredlock", test: "TestSpans_OfATick|TestTickContext_",
	},
	{
		name:  "the lock of a short run is released at once",
		file:  "adapters/gocronlock/gocronlock.go",
		edits: []edit{{"	if time.Since(l.begin) < l.atLeast {", "	if false {"}},
		pkg:   "./adapters/gocronlock", test: "TestLocker_RunsATickOnce",
	},
	{
		name: "a command that ignores SIGTERM outlives its lease",
		file: "cmd/redlockctl/supervise.go",
		edits: []edit{
			{"	case <-time.After(time.Until(end) - min(killBefore, grace/2)):\n		how = \"killed\"\n", ""},
			{"	case <-lease.Context().Done():\n		how = \"killed\"\n", "	case <-time.After(2 * time.Until(end)):\n		how = \"killed\"\n"},
		},
		pkg: "./cmd/redlockctl", test: "TestRun_StopsTheCommand",
	},
	{
		name:  "what the command has left running goes on",
		file:  "cmd/redlockctl/supervise.go",
		edits: []edit{{"			_ = syscall.Kill(group, syscall.SIGKILL) // what it has left running may not go on without the lock\n", ""}},
		pkg:   "./cmd/redlockctl", test: "TestRun_NothingIsLeftWhenTheCommand",
	},
	{
		name:  "the guard of a command kills nothing",
		file:  "cmd/redlockctl/guard.go",
		edits: []edit{{"			if leader > 1 {", "			if leader > 1 && false {"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_NothingIsLeftWhenItIsKilled",
	},
}
