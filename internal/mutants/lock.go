package main

// ofLocks are mutations of package redlock and of what it stands on.
var ofLocks = []mutation{
	{
		"validity counts from the reply", "redlock/acquire.go",
		[]edit{{
			"\tanswers := g.round.Answers()\n",
			"\tvalid.sent = l.clock.Now()\n\tanswers := g.round.Answers()\n",
		}}, "./redlock", "TestTryAcquire_ValidityCountsFromTheSend",
	},
	{
		"validity counts from the last ask", "redlock/acquire.go",
		[]edit{{
			"\tanswers := g.round.Answers()\n",
			"\tanswers := g.round.Answers()\n\tfor _, a := range answers {\n\t\tif a.Sent.After(valid.sent) {\n\t\t\tvalid.sent = a.Sent\n\t\t}\n\t}\n",
		}}, "./redlock", "TestAcquire_ValidityCountsFromTheFirstNode",
	},
	{
		"extension counts from the reply", "redlock/extend.go",
		[]edit{{
			"\tanswers := round.Answers()\n",
			"\tsent = l.clock.Now()\n\tanswers := round.Answers()\n",
		}}, "./redlock", "TestTryAcquire_ValidityCountsFromTheSend",
	},
	{
		"drift is not subtracted", "redlock/validity.go",
		[]edit{{
			"v.sent.Add(v.ttl - allowance(v.ttl, v.drift))",
			"v.sent.Add(v.ttl)",
		}}, "./redlock", "TestTryAcquire_ValidityCountsFromTheSend",
	},
	{
		"late answers are not settled", "redlock/janitor.go",
		[]edit{{
			"\tj.first = append(j.first, left)\n",
			"",
		}}, "./redlock", "TestTryAcquire_EveryMixOfNodes",
	},
	{
		"one release settles a grant that was not answered", "redlock/janitor.go",
		[]edit{{
			"\t\tif !left.sure && again > 0 {",
			"\t\tif false {",
		}}, "./redlock", "TestTryAcquire_GrantHeldUpInTheNetwork",
	},
	{
		"a late request still acts", "redlock/guard.lua",
		[]edit{{
			"  if before ~= '0' and now > tonumber(before) then",
			"  if false then",
		}}, "./redlock", "TestTryAcquire_LateRequestSetsNothing",
	},
	{
		"a release does not wait for the node's grant", "redlock/release.go",
		[]edit{{
			"k.quorum.AskAfter(ctx, call, k.removed, l.afterSets)",
			"k.quorum.Ask(ctx, call, k.removed)",
		}}, "./redlock", "TestLease_ReleaseDoesNotOvertake",
	},
	{
		"a release does not wait for the node's repair", "redlock/repair.go",
		[]edit{{
			"if repair := repairs[node]; repair != nil {",
			"if repair := repairs[node]; repair == nil && repair != nil {",
		}}, "./redlock", "TestLease_ReleaseDoesNotOvertake",
	},
	{
		"nodes that lost the lock are not repaired", "redlock/extend.go",
		[]edit{{
			"\t\t\tlease.repair(round, extending(i, len(leases)))\n",
			"",
		}}, "./redlock", "TestLease_ExtensionRepairs",
	},
	{
		"a lost lease is repaired", "redlock/extend.go",
		[]edit{{
			"\t\t\terrs[i] = lease.notExtended(",
			"\t\t\tlease.repair(round, extending(i, len(leases)))\n\t\t\terrs[i] = lease.notExtended(",
		}}, "./redlock", "TestLease_IsNeverAcquiredAnew",
	},
	{
		"an extension sets the lock again and counts", "redlock/extend.lua",
		[]edit{{
			"    answers[i + 1] = 0\n",
			"    redis.call('SET', lock, value, 'PX', ttl)\n    answers[i + 1] = 1\n",
		}}, "./redlock", "TestLease_IsNeverAcquiredAnew",
	},
	{
		"repair under guard", "redlock/repair.lua",
		[]edit{{
			"if instead then",
			"if false then",
		}}, "./redlock", "TestGuard_RepairWaitsForItsEnd",
	},
	{
		"extension compares a prefix", "redlock/extend.lua",
		[]edit{{
			"elseif holder ~= value then",
			"elseif string.sub(holder, 1, #value) ~= value then",
		}}, "./redlock", "TestOwnership_IsTheWholeValue",
	},
	{
		"extension prolongs whatever is there", "redlock/extend.lua",
		[]edit{{
			"elseif holder ~= value then",
			"elseif false then",
		}}, "./redlock", "TestLease_LostOnAMajorityEndsAtOnce",
	},
	{
		"a retried grant counts twice", "redlock/acquire.lua",
		[]edit{{
			"    return {now, 1, number}\n  end\n  -- What",
			"    return {now, 1, number + 1}\n  end\n  -- What",
		}}, "./redlock", "TestTryAcquire_CountsItsOwnGrant",
	},
	{
		"takeover of any attempt", "redlock/acquire.lua",
		[]edit{{
			" or tonumber(attempt) >= tonumber(mine)",
			"",
		}}, "./redlock", "TestAttempt_TakesOverItsOwnLeftovers",
	},
	{
		"takeover of any contender", "redlock/acquire.lua",
		[]edit{{
			"who ~= me or ",
			"",
		}}, "./redlock", "TestAttempt_TakesOverItsOwnLeftovers",
	},
	{
		"takeover under guard", "redlock/acquire.lua",
		[]edit{{
			"if instead then",
			"since, longest = since or 0, longest or 0\nif instead and not redis.call('GET', KEYS[1]) then",
		}}, "./redlock", "TestAttempt_TakesOverNothingUnderGuard",
	},
	{
		"the fence is not raised", "redlock/acquire.go",
		[]edit{{
			"\tif t.uneven {",
			"\tif false {",
		}}, "./redlock", "TestAcquire_TokensIncrease",
	},
	{
		"the deadline is not checked after the raise", "redlock/acquire.go",
		[]edit{{
			"\tif !now.Before(valid.deadline()) {",
			"\tif !t.uneven && !now.Before(valid.deadline()) {",
		}}, "./redlock", "TestFence_DeadlineIsCheckedAfterTheRaise",
	},
	{
		"counters do not start from the clock", "redlock/acquire.lua",
		[]edit{{
			"  number = math.max(number, now - now % math.max(math.floor(longest * 1000 / 64), 1))\n",
			"",
		}}, "./redlock", "TestFence_IncreasesOverNodesThatForgot",
	},
	{
		"a counter of an older file counts on", "redlock/acquire.lua",
		[]edit{{
			"if under ~= since then",
			"if not fence then",
		}}, "./redlock", "TestFence_IncreasesOverTheOneNodeInCommon",
	},
	{
		"the guard is ignored", "redlock/guard.lua",
		[]edit{{
			"    if left > 0 then",
			"    if false then",
		}}, "./redlock", "TestGuard_NodesThatMayHaveForgotten",
	},
	{
		"the guard forgets who the server was", "internal/guard/guard.lua",
		[]edit{{
			" or (id ~= '' and id ~= g[2])",
			"",
		}}, "./redlock", "TestGuard_NodesThatMayHaveForgotten",
	},
	{
		"the guard trusts a clock that went back", "internal/guard/guard.lua",
		[]edit{{
			" or since > ms",
			"",
		}}, "./redlock", "TestGuard_ClockThatIsBehind",
	},
	{
		"lists of any length", "internal/guard/guard.lua",
		[]edit{{
			"  if known and known ~= nodes and",
			"  if false and",
		}}, "./redlock", "TestGuard_RefusesListsOfAnotherLength",
	},
	{
		"the machine's sleep is not counted", "internal/clock/clock.go",
		[]edit{{
			"\treturn now.Add(c.Slept())",
			"\treturn now",
		}}, "./redlock", "TestSuspension_ShortensTheLease",
	},
	{
		"a node whose clock jumped counts", "redlock/votes.go",
		[]edit{{
			"(!q.timed || l.clocks.Distrust(i, a.Received) == nil)",
			"(!q.timed || i >= 0)",
		}}, "./redlock", "TestClockJump_IsTold",
	},
	{
		"two clocks that disagree decide", "redlock/votes.go",
		[]edit{{
			"return l.clocks.Agree(voters)",
			"return voters",
		}}, "./redlock", "TestClocksThatDisagree_DoNotDecide",
	},
	{
		"any node names the holder's token", "redlock/holder.go",
		[]edit{{
			"\t\tif same >= l.need {",
			"\t\tif same >= 1 {",
		}}, "./redlock", "TestFence_HolderReportsTheTokenWhereANodeIsAhead",
	},
	{
		"what is wrong with one name fails all that are extended with it", "redlock/extend.lua",
		[]edit{{
			"redis.pcall('GET', lock)",
			"redis.call('GET', lock)",
		}}, "./integration/conformance", "TestConformance_OfNodesInMemory/A_user's_own_key_in_place_of_one_lock_ends",
	},
	{
		"a minority is enough", "redlock/locker.go",
		[]edit{{
			"need: n/2 + 1,",
			"need: max(1, n/2),",
		}}, "./redlock", "TestTryAcquire_EveryMixOfNodes",
	},
	{
		"a lease that is lost ends before that is told", "redlock/renew.go",
		[]edit{{
			"\t\tagain := n.plan(r, errs[i])\n",
			"\t\tr.lease.lose(errs[i])\n\t\tagain := n.plan(r, errs[i])\n",
		}}, "./redlock", "TestAutoExtend_TellsThatALeaseIsLostBeforeItEnds",
	},
}
