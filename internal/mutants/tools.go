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
		edits: []edit{{"	case left <= 0:", "	case true:"}},
		pkg:   "./adapters/gocronlock", test: "TestLocker_RunsATickOnce",
	},
	{
		name: "a command that ignores SIGTERM outlives its lease",
		file: "cmd/redlockctl/supervise.go",
		edits: []edit{
			{"return min(killBefore, grace/2)", "return -10 * grace"}, // of the guard, too
			{"	case <-lease.Context().Done():\n		how = \"killed\"\n", ""},
		},
		pkg: "./cmd/redlockctl", test: "TestRun_StopsTheCommandBefore",
	},
	{
		name:  "what the command has left running goes on",
		file:  "cmd/redlockctl/supervise.go",
		edits: []edit{{"			_ = syscall.Kill(group, syscall.SIGKILL) // what it has left running may not go on without the lock\n", ""}},
		pkg:   "./cmd/redlockctl", test: "TestRun_NothingIsLeftWhenTheCommand",
	},
	{
		name:  "the guard of a command kills nothing",
		file:  "cmd/redlockctl/guarding.go",
		edits: []edit{{"syscall.Kill(-o.leader, syscall.SIGKILL)", "syscall.Kill(-o.leader, 0)"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_NothingIsLeftWhenItIsKilled",
	},
	{
		name:  "the guard of a command waits for the end of its pipe",
		file:  "cmd/redlockctl/guarding.go",
		edits: []edit{{"sinceBoot() >= o.at {", "false {"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_TheCommandOfAStopped",
	},
	{
		name:  "a guard that was held up knows no extension",
		file:  "cmd/redlockctl/guarding.go",
		edits: []edit{{"&o.leader, &o.at); err != nil {", "&o.leader, &o.at); err != nil || sinceBoot() >= o.at {"}},
		pkg:   "./cmd/redlockctl", test: "TestGuard_",
	},
	{
		name:  "a command that the guard has killed ended by itself",
		file:  "cmd/redlockctl/supervise.go",
		edits: []edit{{"if guard.end() && !isLost(err) {", "if guard.end() && false {"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_ACommandThatTheGuardHasKilled",
	},
	{
		name:  "the command goes on without a guard",
		file:  "cmd/redlockctl/supervise.go",
		edits: []edit{{"beforeEnd(grace)/2); err != nil {", "beforeEnd(grace)/2); err != nil && false {"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_StopsTheCommandWhenTheGuard",
	},
	{
		name:  "the command is stopped when it reads from the terminal",
		file:  "cmd/redlockctl/input.go",
		edits: []edit{{"err == nil { // only", "err == nil && false { // only"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_TheCommandDoesNotRead",
	},
	{
		name:  "a hangup does not end the wait for a lock",
		file:  "cmd/redlockctl/run.go",
		edits: []edit{{"{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}", "{syscall.SIGINT, syscall.SIGTERM}"}},
		pkg:   "./cmd/redlockctl", test: "TestRun_ASignalEndsTheWait",
	},
	{
		name:  "a minority of nodes is well",
		file:  "cmd/redlockctl/nodes.go",
		edits: []edit{{"good < need {", "good < 0*need {"}},
		pkg:   "./cmd/redlockctl", test: "TestLook_WithNodesAway",
	},
}
