package main

// ofRecords are mutations of what nodes keep of runs, and of what leaders make of it.
var ofRecords = []mutation{
	{
		name:  "a told record is a vote asked again in a later term",
		file:  "internal/register/claim.lua",
		edits: []edit{{"local voted = h[9] or state ~= 'lost' and at > tonumber(h[6])\n", "local voted = true\n"}},
		pkg:   "./internal/register", test: "TestClaim_OfARunThatIsLost|TestAdmit_WhatANodeIsTold",
	},
	{
		name:  "a vote that came to nothing stays open",
		file:  "internal/register/finish.lua",
		edits: []edit{{" and not (won and state == 'claimed')", ""}},
		pkg:   "./internal/register", test: "TestFinish_EndsTheVote",
	},
	{
		name:  "a node that is admitted is not told of what is under way",
		file:  "internal/register/admit.go",
		edits: []edit{{"range s.Open {", "range s.Open[:0] {"}},
		pkg:   "./internal/register", test: "TestAdmit_TellsOfARunUnderWay",
	},
	{
		name:  "what is not run is open for ever",
		file:  "internal/register/claim.lua",
		edits: []edit{{"  put(job, runs, slot, record, is)\n  redis", "  redis.call('HSET', job, 'o:' .. slot, record)\n  redis"}},
		pkg:   "./internal/register", test: "TestClaim_OfATickThatIsNotRun",
	},
	{
		name: "a take-over that has to wait is thrown away",
		file: "scheduler/claim.go",
		edits: []edit{
			{"\tif c.kind == takeOver {\n\t\te.open = e.open[1:]\n\t}\n", ""},
			{
				"\t\tif !e.job.AtLeastOnce {\n\t\t\te.open = e.open[1:]\n",
				"\t\te.open = e.open[1:]\n\t\tif !e.job.AtLeastOnce {\n",
			},
		},
		pkg: "./scheduler", test: "TestTakeOver_OfTwoRuns",
	},
	{
		name:  "a take-over that was cut off while it waited is skipped",
		file:  "scheduler/run.go",
		edits: []edit{{"if l.term.Context().Err() != nil {", "if false {"}},
		pkg:   "./scheduler", test: "TestTakeOver_OfOneThat",
	},
	{
		name:  "a run is lost though a node knows of its end",
		file:  "scheduler/leftout.go",
		edits: []edit{{"if l.hasEnded(job, c.record) {", "if false {"}},
		pkg:   "./scheduler", test: "TestLost_NotWhere",
	},
	{
		name:  "ticks that waited when nodes forgot vanish",
		file:  "scheduler/entry.go",
		edits: []edit{{"\t\te.lose(s.Mark)\n", ""}},
		pkg:   "./scheduler", test: "TestForgotten_TicksThatWait",
	},
}
