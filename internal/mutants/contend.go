package main

// ofWaiting are mutations of what waits for a lock, and of the calls to the nodes.
var ofWaiting = []mutation{
	{
		"release removes whatever is there", "redlock/release.lua",
		[]edit{{
			"if holder ~= ARGV[1] then",
			"if false then",
		}}, "./redlock", "TestLease_ReleaseRemovesOnlyItsOwn",
	},
	{
		"release compares a prefix", "redlock/release.lua",
		[]edit{{
			"if holder ~= ARGV[1] then",
			"if string.sub(holder, 1, #ARGV[1]) ~= ARGV[1] then",
		}}, "./redlock", "TestOwnership_IsTheWholeValue",
	},
	{
		"a minority's holder is believed", "redlock/contend.go",
		[]edit{{
			"votes[who] >= c.locker.need",
			"votes[who] >= 1",
		}}, "./redlock", "TestAcquire_DoesNotWaitForAMinority",
	},
	{
		"releases are not told", "redlock/release.lua",
		[]edit{{
			"if ARGV[2] ~= '' and",
			"if false and",
		}}, "./redlock", "TestAcquire_IsToldOfTheRelease",
	},
	{
		"the end of a failed attempt is not told", "redlock/acquire.go",
		[]edit{{
			"\t\ttell = toldFailed\n",
			"",
		}}, "./redlock", "TestAcquire_IsToldOfTheEndOfAFailedAttempt",
	},
	{
		"slow nodes are asked one after the other for ever", "redlock/contend.go",
		[]edit{{
			"\tc.late = !c.late && ",
			"\tc.late = false && ",
		}}, "./redlock", "TestAcquire_WhereARoundTripTakesMostOfTheNodeTimeout",
	},
	{
		"what a late subscription has missed is not asked for", "redlock/push.go",
		[]edit{{
			"\t\tif n.missed {",
			"\t\tif false {",
		}}, "./redlock", "TestAcquire_ReleaseBeforeASlowSubscription",
	},
	{
		"an attempt that was cut short hides the outcome before it", "redlock/contend.go",
		[]edit{{
			"told != nil && (ctx.Err() == nil || last == nil) {",
			"told != nil {",
		}}, "./redlock", "TestAcquire_EndedByItsContext",
	},
	{
		"a node that was silent is told all scripts again", "internal/quorum/send.go",
		[]edit{{
			"\tif n.told {",
			"\tif false {",
		}}, "./internal/quorum", "TestNode_IsToldTheScriptsOnce",
	},
	{
		"the fan-out waits for its client", "internal/quorum/quorum.go",
		[]edit{{
			"\tcase <-r.ctx.Done():\n",
			"\tcase <-make(chan struct{}):\n",
		}}, "./internal/quorum", "TestNode_ThatHangs",
	},
	{
		"a node that does not answer is asked four times at once", "internal/quorum/node.go",
		[]edit{{
			"\tif n.silent || n.stranger {",
			"\tif n.stranger {",
		}}, "./internal/quorum", "TestNode_ThatDoesNotAnswer",
	},
	{
		name:  "a Watch goes on while Close waits",
		file:  "redlock/observe.go",
		edits: []edit{{"\t\t\treturn fmt.Errorf(\"%w: watch %q\", ErrClosed, lock)\n\t\tcase <-ctx.Done():", "\t\tcase <-ctx.Done():"}},
		pkg:   "./redlock", test: "TestWatch_EndsWhenCloseBegins",
	},
	{
		name:  "who waits beside a dead node polls",
		file:  "redlock/pause.go",
		edits: []edit{{"if !slices.ContainsFunc(c.order, c.isNew) {", "if len(c.seen) == c.locker.quorum.Size() {"}},
		pkg:   "./redlock", test: "TestAcquire_IdleWaiterKnowsTheNextHolder",
	},
	{
		name:  "a second repair goes out beside the first",
		file:  "redlock/repair.go",
		edits: []edit{{"last != nil && last.mayAct(node, l.locker.clock.Now())", "last != nil && false"}},
		pkg:   "./redlock", test: "TestLease_ReleaseLeavesNothingOfAnEarlierRepair",
	},
	{
		name:  "Close waits for a subscription to a hung node",
		file:  "redlock/push.go",
		edits: []edit{{"client = single.WithTimeout(l.settings.NodeTimeout)", "client = single"}},
		pkg:   "./redlock", test: "TestClose_BesideASubscription",
	},
}
