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
	{
		name:  "an admission is not bound to the memory that did not know",
		file:  "internal/register/admit.lua",
		edits: []edit{{"if name ~= ARGV[3] then\n", "if false then\n"}},
		pkg:   "./internal/register", test: "TestAdmit_",
	},
	{
		name:  "a promise of another memory counts",
		file:  "internal/register/claim.lua",
		edits: []edit{{" or ARGV[#ARGV] ~= name then", " then"}},
		pkg:   "./internal/register", test: "TestClaim_AForgotten",
	},
	{
		name:  "a vote of an earlier term ends the asking",
		file:  "internal/register/claim.go",
		edits: []edit{{"takenBy(f) < token {", "false {"}},
		pkg:   "./internal/register", test: "TestClaim_OfATickWithAVote",
	},
	{
		name:  "take-over compares runs",
		file:  "internal/register/claim.lua",
		edits: []edit{{"    if state ~= 'claimed' or attempted >= tonumber(attempt) then", "    if state ~= 'claimed' or by ~= run then"}},
		pkg:   "./scheduler", test: "TestLost_AtLeastOnce",
	},
	{
		name:  "others' word on a run stands over its own",
		file:  "internal/register/finish.lua",
		edits: []edit{{"    own == '0' and (run ~= mine or state ~= 'claimed')) then", "    state ~= 'claimed') then"}},
		pkg:   "./internal/register", test: "TestFinish_",
	},
	{
		name:  "catch-up begins now",
		file:  "scheduler/entry.go",
		edits: []edit{{"e.settle(s.Mark, s.Since, s.Planned)", "e.settle(s.Mark, s.Since, s.Planned, time.Now())"}},
		pkg:   "./scheduler", test: "TestCatchUp_After",
	},
	{
		name:  "the oldest tick is caught up with",
		file:  "scheduler/catchup.go",
		edits: []edit{{"d.tick, d.jumped = newest(s, first, now)", "d.tick = first"}},
		pkg:   "./scheduler", test: "TestCatchUp_",
	},
	{
		name:  "a changed spec has a past",
		file:  "scheduler/entry.go",
		edits: []edit{{"e.settle(s.Mark, s.Since, s.Planned)", "e.settle(s.Mark, s.Since)"}},
		pkg:   "./scheduler", test: "TestCatchUp_AChangedSpec",
	},
	{
		name:  "a pause has a past",
		file:  "scheduler/entry.go",
		edits: []edit{{"		e.settle(pause.At())\n", ""}},
		pkg:   "./scheduler", test: "TestPause_",
	},
	{
		name:  "ticks follow the replica's clock",
		file:  "scheduler/clock.go",
		edits: []edit{{"t, ok := c.locker.Time()", "t, ok := wall.UTC(), true"}},
		pkg:   "./scheduler", test: "TestSkew_AClockThatIsSet",
	},
	{
		name:  "the zone's changes are not walked",
		file:  "scheduler/zone.go",
		edits: []edit{{"	if jumped && !c.hourly || repeats && c.fixed {", "	if false && (jumped || repeats) {"}},
		pkg:   "./scheduler", test: "TestZone_TicksThrough",
	},
	{
		name:  "the end of a run is written before it",
		file:  "scheduler/run.go",
		edits: []edit{{"	l.s.hooks.started(r.Run)\n", "	l.s.hooks.started(r.Run)\n	l.ended(r, register.OK, nil)\n"}},
		pkg:   "./scheduler", test: "TestLost_ARunWithout",
	},
	{
		name:  "a tick is asked for again for another run",
		file:  "scheduler/claim.go",
		edits: []edit{{"	if e.asked != c.slot {", "	if true {"}},
		pkg:   "./scheduler", test: "TestTick_Replies",
	},
	{
		name:  "a run of an earlier leader holds nobody up",
		file:  "scheduler/claim.go",
		edits: []edit{{"		e.lane.foreign = true\n", ""}},
		pkg:   "./scheduler", test: "TestOverlap_OverAChange",
	},
	{
		name:  "a long run has no lease of its own",
		file:  "scheduler/run.go",
		edits: []edit{{"		defer l.hold(ctx, r)()\n", "		defer func() {}()\n"}},
		pkg:   "./scheduler", test: "TestOverlap_OverAChange",
	},
}
