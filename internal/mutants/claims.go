package main

// ofClaims are mutations of package scheduler and of what the nodes keep for it.
var ofClaims = []mutation{
	{
		name:  "runs are cut off when the leader is asked to stop",
		file:  "scheduler/overlap.go",
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
		name:  "a tick needs no claim",
		file:  "internal/register/claim.go",
		edits: []edit{{"	o.Won = yes >= need\n", "	o.Won = true\n"}},
		pkg:   "./internal/register", test: "TestClaim_",
	},
	{
		name:  "one vote is a quorum",
		file:  "internal/register/claim.go",
		edits: []edit{{"	o.Won = yes >= need\n", "	o.Won = yes > 0\n"}},
		pkg:   "./internal/register", test: "TestClaim_",
	},
	{
		name:  "a claim is of the job's name",
		file:  "internal/register/claim.lua",
		edits: []edit{{"    if at <= mark then\n", "    if old then\n"}},
		pkg:   "./internal/register", test: "TestClaim_OneRunOfMany",
	},
	{
		name:  "a promise is not written",
		file:  "internal/register/promise.lua",
		edits: []edit{{"  redis.call('HSET', job, 'term', ARGV[3])\n", ""}},
		pkg:   "./internal/register", test: "TestPromise_",
	},
	{
		name:  "a node that forgot votes",
		file:  "internal/register/claim.lua",
		edits: []edit{{"  if h[2] ~= name then\n", "  if not h[2] then\n"}},
		pkg:   "./internal/register", test: "TestClaim_ANodeThatForgot",
	},
	{
		name:  "a node is admitted with the others' maximum only",
		file:  "internal/register/admit.lua",
		edits: []edit{{"string.format('%d', math.ceil((now + ahead) / 1000))", "'0'"}},
		pkg:   "./internal/register", test: "TestClaim_ANodeThatForgot",
	},
}
