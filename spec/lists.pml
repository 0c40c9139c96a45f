/*
The list of nodes as a specification that spin checks. spec/check.sh runs it; internal/lists describes the protocol. How to read
Promela: see jobs.pml.

Property Exclusion: two leases of one lock are never valid at a time, whatever a deploy does to the list (it grows, shrinks, has one
replaced, or goes back half way), and whichever servers lose their data meanwhile. Property Calm: when messages flow again, and only
processes with the same addresses are left, they get a list.

Words. A server is one run of data; it has an id, which is lost with the data. A list is a set of ids with a turn, which grows from list
to list. A server keeps J, the list in which it is joined; T, the lists that it has taken since; and last, the newest of these. A server
without any is fresh. It grants only if T is empty, and only under the label of J.

What is left out of a process: all that it keeps. It has addresses, and learns the rest from the servers. So any process may send any of
its messages at any time. Once sent, a message may reach each server at any time, again and again, or never. That covers messages that
are lost, late or repeated, and processes that stop, restart or are paused. A step "condition -> change" is a message that arrives where
the server says yes. A refused message changes nothing, so it is not here.

Time. A tick passes at any moment. A lease lasts for TTL ticks, and so does the guard. Clocks are exact here: a server is unused for long
enough if nothing that it granted is valid any more. The code adds a second for clocks that differ.

Not in it: force (a person decides), fencing numbers, servers that step their clocks, and an older file while old processes still run.
*/

/* The size, unless spin is called with other values, such as -DOLD=7. A set is a number whose bits are its members: 7 is servers 0, 1
and 2. */
#ifndef OLD /* the servers of the list in use at the start, which is list 1 */
#define OLD 1
#endif
#ifndef NEW /* the servers that the addresses of a new process lead to */
#define NEW 7
#endif
#ifndef LISTS /* how many there may be, at most 5 */
#define LISTS 3
#endif
#ifndef ENDS /* 1: the old processes may end */
#define ENDS 0
#endif
#ifndef CALM /* at some moment, messages flow, and only processes with these addresses are left; 0: never */
#define CALM 0
#endif
#ifndef LOSSES /* how often a server loses its data */
#define LOSSES 0
#endif
#ifndef RESTARTS /* how often a server restarts with the same list, without its last grants */
#define RESTARTS 0
#endif
#ifndef OLDER /* how often a server gets its first file back, after the old processes have ended, and while no list changes */
#define OLDER 0
#endif
#define TTL 1 /* ticks */

/* The rules. -DWITHOUT=Claim removes the rule Claim. */
#define None     0
#define Claim    1  /* a server that has taken another list grants nothing */
#define Label    2  /* a server grants only under the label of its list */
#define Unused   3  /* take: a server that is in a list has been unused, which it is not while its guard lasts, */
#define Turn     4  /* and the new list has a larger turn than each that the server remembers, */
#define Joined   5  /* and a majority of the list in which it is joined, */
#define Taken    6  /* and of each list that it has taken since */
#define Place    7  /* instead of a majority, it may have the same addresses: the servers that are missing have lost their data */
#define All      8  /* join: all servers of the list have taken it */
#define Last     9  /* join: the server has taken no other list since */
#define Guard    10 /* join: a server that was in no list grants nothing for TTL */
#define First    11 /* swap: the server that comes in has taken the list first, */
#define Outsider 12 /* and is in no list, so that its guard starts when it joins */
#define Same     13 /* swap: the server is joined in the old list; once the new one is in use, in any that differs by one server at most */
#define Moved    14 /* swap: the server that comes in joins when a majority of the old list has moved */
#define Restart  15 /* a server that has restarted grants nothing for TTL */
#define Id       16 /* the id is lost with the data */
#define Again    17 /* a server that went to a list that has not come to be is brought back by a later list of the same ids */
#define Votes    18 /* only votes under one label count together */
#define Free     19 /* swap: the server has taken no other list */
#define Forget   20 /* a server with older data forgets its list, if a later one of the same addresses is in use without it */
#define Over     21 /* a process gives up its list when nobody serves it; the code: no majority, and it can do nothing else */
#ifndef WITHOUT
#define WITHOUT None
#endif
#define RULE(name) (WITHOUT == name) /* the rule is removed */

/* ---- What there is ---- */

#define S 6 /* servers */
#define L 8 /* lists, and one that is none */
byte id[S], J[S], T[S], last[S], guard[S];
byte hold[S], holder[S];                   /* the lock: for how many ticks, and whose */
byte ids[L], turn[L], where[L];            /* a list: its servers, its turn, and the addresses of its maker */
byte later[L], major[L], near[L], same[L]; /* the lists with a smaller turn; those of which it has a majority; those that differ by
                                              one server; those with the same addresses */
byte yes[L];                               /* the servers that have said yes to take */
byte from[L], in[L], moved[L];             /* swap: the old list, who comes in, who has moved */
bit asked[L], ready[L], carried[L];        /* take was sent to all; swap was; a majority has moved */
bit adopted[L];                            /* a majority was joined at some time, so processes may use the list */
byte losses, restarts, older;
byte lists, lab[2], got[2], left[2];       /* the two that want the lock: label, votes, ticks of validity left */
byte next[S], fresh;                       /* the ids that come next, as bits: of each server, and of all */
bit ended;                                 /* the old processes have */
hidden byte size[256], use, round, i, k, new, top, x, n, c, p, known; /* size[x]: how many members x has; the others are scratch */

#define BIT(b) (1 << (b))
#define MAJ(some, all) (2 * size[(some) & (all)] > size[all])
#define NEAR(k, l) (size[ids[k]] == size[ids[l]] && size[ids[k] & ids[l]] >= size[ids[k]] - 1)
#define KNOWS(s) (T[s] | (J[s] -> BIT(J[s]) : 0))
#define IN(s, k) (k <= lists && (ids[k] & id[s]))

/* ---- Servers ---- */

#define MAY_TAKE(s, k) (IN(s, k) && last[s] != k && (asked[k] || in[k] == id[s]) && (KNOWS(s) == 0 || \
	(hold[s] == 0 && guard[s] == 0 || RULE(Unused)) && ((KNOWS(s) & ~later[k]) == 0 || RULE(Turn)) && \
	(J[s] == 0 || ((major[k] | same[k]) & BIT(J[s])) || RULE(Joined)) && ((T[s] & ~(major[k] | same[k])) == 0 || RULE(Taken))))
#define MAY_REPEAT(s, k) (IN(s, k) && last[s] == k && !(yes[k] & id[s]))
#define IS_LAST(s, k) (last[s] == k || RULE(Last) && (later[k] & BIT(J[s])))
#define ALL_YES(k) (yes[k] == ids[k] || RULE(All) && MAJ(yes[k], ids[k]))
#define MAY_JOIN(s, k) (IN(s, k) && IS_LAST(s, k) && J[s] != k && (carried[k] || ALL_YES(k)))
#define MAY_SWAP(s, k) (IN(s, k) && J[s] && J[s] != k && (later[k] & BIT(J[s])) && (T[s] == 0 || RULE(Free)) && \
	(from[k] && ready[k] && (J[s] == from[k] || RULE(Same)) || adopted[k] && (near[k] & BIT(J[s]))))

inline settle(s, k) {
	J[s] = k; last[s] = (T[s] -> last[s] : k);
	for (i : 0 .. S-1) { x = x | (J[i] == k -> id[i] : 0) }
	adopted[k] = adopted[k] || MAJ(x, ids[k]);
	x = 0
}
#define MESSAGE(k) \
	:: d_step { MAY_TAKE(s, k) -> printf("server %d takes list %d\n", s, k); \
		T[s] = T[s] | BIT(k); last[s] = k; yes[k] = yes[k] | id[s] } \
	:: d_step { MAY_REPEAT(s, k) -> printf("server %d says yes again to list %d\n", s, k); yes[k] = yes[k] | id[s] } \
	:: d_step { MAY_SWAP(s, k) -> printf("server %d is swapped from list %d to %d\n", s, J[s], k); \
		settle(s, k); moved[k] = moved[k] | id[s] } \
	:: d_step { MAY_JOIN(s, k) -> printf("server %d joins list %d, had %d\n", s, k, J[s]); \
		guard[s] = (J[s] || RULE(Guard) -> guard[s] : TTL); T[s] = 0; settle(s, k) }

#define OUTLIVED(s, k) (adopted[k] && (later[k] & BIT(J[s])) && (same[k] & BIT(J[s])) && !(ids[k] & id[s]))
#define MAY_FORGET(s) (J[s] && T[s] == 0 && !RULE(Forget) && (OUTLIVED(s, 2) || OUTLIVED(s, 3) || OUTLIVED(s, 4) || OUTLIVED(s, 5)))

/* ---- The lock ---- */

/* A step is a request that one server grants, and its answer. A lease is valid from before the first one. Processes ask only servers at
their addresses, and use only lists of as many ids as they have addresses. */
#define HOLDS(p) (left[p] && MAJ(got[p], ids[lab[p]]))
#define SIZED(addr, s) ((addr >> s & 1) && size[ids[J[s]]] == size[addr])
#define GRANTS(p, s) (J[s] && (T[s] == 0 || RULE(Claim)) && guard[s] == 0 && (hold[s] == 0 || holder[s] == p + 1) && \
	(SIZED(NEW, s) || SIZED(OLD, s) && !ended))
#define LOCK(p) \
	:: d_step { GRANTS(p, s) && !HOLDS(p) -> lab[p] = J[s]; left[p] = TTL; got[p] = id[s]; grant(p, s) } \
	:: d_step { GRANTS(p, s) && !HOLDS(p) && RULE(Label) -> lab[p] = 1; left[p] = TTL; got[p] = id[s]; grant(p, s) } \
	:: d_step { GRANTS(p, s) && left[p] && (lab[p] == J[s] || RULE(Label) || RULE(Votes)) -> \
		lab[p] = (RULE(Votes) -> J[s] : lab[p]); got[p] = got[p] | id[s]; grant(p, s) }
inline grant(p, s) {
	hold[s] = TTL; holder[s] = p + 1;
	printf("server %d grants to %d under list %d\n", s, p, lab[p]);
	assert(!(HOLDS(0) && HOLDS(1))) /* Exclusion */
}

inline renew(s) { /* it is fresh, and has another id */
	id[s] = 0; J[s] = 0; last[s] = 0; next[s] = fresh; fresh++
}

proctype Server(byte s) {
	do
	MESSAGE(1)
	MESSAGE(2)
	MESSAGE(3)
	MESSAGE(4)
	MESSAGE(5)
	LOCK(0)
	LOCK(1)
	/* Its data are lost. If a list of one loses its data while processes use it, nobody remembers: a known limit. */
	:: d_step { losses && id[s] && fresh < 8 && (size[OLD] > 1 || ended) -> losses--; printf("server %d loses its data\n", s);
		renew(s); T[s] = 0; guard[s] = 0; hold[s] = 0; holder[s] = 0 }
	:: d_step { MAY_FORGET(s) && fresh < 8 -> printf("server %d forgets list %d\n", s, J[s]); renew(s) }
	:: d_step { restarts && id[s] -> restarts--; printf("server %d restarts without its last grants\n", s);
		guard[s] = (RULE(Restart) -> guard[s] : TTL); hold[s] = 0; holder[s] = 0 }
	:: d_step { older && ended && (OLD >> s & 1) && id[s] && (T[0] | T[1] | T[2] | T[3] | T[4] | T[5]) == 0 ->
		printf("server %d gets its first file back\n", s); older--; id[s] = BIT(s); J[s] = 1; last[s] = 1; T[s] = 0; guard[s] = (RULE(Restart) -> 0 : TTL); hold[s] = 0; holder[s] = 0 }
	od
}

/* ---- Processes ---- */

/* A server of list f that is heard remembers a list with a larger turn. */
#define AHEAD(addr, f, s) ((addr >> s & 1) && (id[s] & ids[f]) && (KNOWS(s) & ~later[f] & ~BIT(f)))
#define BEHIND(addr, f) (AHEAD(addr, f, 0) || AHEAD(addr, f, 1) || AHEAD(addr, f, 2) || AHEAD(addr, f, 3) || AHEAD(addr, f, 4) || \
	AHEAD(addr, f, 5))
inline survey(addr, f) { /* all are asked, fresh ones get ids. x: ids; n: servers; top: largest turn; c: a fresh one outside list f, or S */
	top = 0; x = 0; n = 0; c = S; known = 0;
	for (i : 0 .. S-1) {
		if
		:: addr >> i & 1 ->
			n++;
			id[i] = (id[i] -> id[i] : BIT(RULE(Id) -> i : next[i]));
			x = x | id[i];
			known = known | KNOWS(i);
			for (k : 1 .. lists) { top = ((KNOWS(i) & BIT(k)) && turn[k] > top -> turn[k] : top) }
			c = (f && !(id[i] & ids[f]) && KNOWS(i) == 0 -> i : c)
		:: else
		fi
	}
}
inline propose(addr) { /* the list of the ids x: the one that is known if no turn is larger, else a new one */
	new = 0;
	for (k : 1 .. lists) { new = (ids[k] == x && (known & ~later[k] & ~BIT(k)) == 0 -> k : new) }
	if
	:: new == 0 && lists < (round -> L - 1 : LISTS) ->
		lists++; new = lists; ids[new] = x; turn[new] = top + 1; where[new] = addr;
		for (k : 1 .. lists) {
			later[new] = later[new] | (turn[k] < turn[new] -> BIT(k) : 0);
			later[k] = later[k] | (turn[new] < turn[k] -> BIT(new) : 0);
			major[new] = major[new] | (MAJ(ids[new], ids[k]) -> BIT(k) : 0);
			major[k] = major[k] | (MAJ(ids[k], ids[new]) -> BIT(new) : 0);
			same[new] = same[new] | (where[k] == where[new] && !RULE(Place) -> BIT(k) : 0);
			same[k] = same[k] | (where[k] == where[new] && !RULE(Place) -> BIT(new) : 0);
			near[new] = near[new] | (NEAR(k, new) -> BIT(k) : 0);
			near[k] = near[k] | (NEAR(k, new) -> BIT(new) : 0)
		}
		printf("list %d is %d with turn %d\n", new, x, top + 1)
	:: else
	fi
}
#define RUNS(addr) (addr == NEW || !ended)
/* A process that cannot adopt a list asks the servers at its addresses to take a new one. */
#define PROPOSE(addr) \
	:: d_step { lists < LISTS && RUNS(addr) -> survey(addr, 0); propose(addr); asked[new] = 1; asked[0] = 0; x = 0 }
/* A process that has adopted list f replaces the one server of f that none of its addresses leads to by a fresh one. */
#define SWAP(addr, f) \
	:: d_step { lists < LISTS && adopted[f] && RUNS(addr) -> survey(addr, f); \
		if \
		:: c < S && n == size[ids[f]] && size[x & ids[f]] == n - 1 -> propose(addr); \
			if \
			:: new && from[new] == 0 -> from[new] = f; in[new] = id[c]; printf("... to swap from list %d\n", f) \
			:: else \
			fi \
		:: else \
		fi; x = 0 }
/* A process that has adopted list f makes it again with a larger turn, if one of its servers went to a list that has not come to be. */
#define FOLLOW(addr, f) \
	:: d_step { lists < LISTS && adopted[f] && RUNS(addr) && !RULE(Again) -> survey(addr, f); \
		if \
		:: n == size[ids[f]] && BEHIND(addr, f) -> x = ids[f]; propose(addr); \
			if \
			:: new && from[new] == 0 && turn[new] > turn[f] -> from[new] = f; ready[new] = 1; printf("... to follow list %d\n", f) \
			:: else \
			fi \
		:: else \
		fi; x = 0 }
#define CHANGE(f) SWAP(OLD, f) SWAP(NEW, f) FOLLOW(OLD, f) FOLLOW(NEW, f)
/* It swaps when the one that comes in has taken the new list. When a majority has moved, the others may take and join it. */
#define CAME(s, k) (id[s] && id[s] == in[k] && (last[s] == k || RULE(First)) && (J[s] == 0 || RULE(Outsider)))
#define CARRY(k) \
	:: d_step { from[k] && !ready[k] && (CAME(0, k) || CAME(1, k) || CAME(2, k) || CAME(3, k) || CAME(4, k) || CAME(5, k)) -> \
		ready[k] = 1; printf("swap to list %d is sent\n", k) } \
	:: d_step { from[k] && !carried[k] && (MAJ(moved[k], ids[from[k]]) || RULE(Moved) && ready[k]) -> \
		carried[k] = 1; asked[k] = 1; printf("list %d has a majority of list %d\n", k, from[k]) }

/* ---- Calm ---- */

/* Whatever has happened, once messages flow and only processes with the same addresses are left, they get a list, and all of their servers
serve it. This is what one process does then, step by step, each time with all answers. It may have used a list before. */
#define SERVING(s) (J[s] == use && T[s] == 0)
#define SERVES(s) (SERVING(s) -> id[s] : 0)
#define ANY_SERVES (SERVES(0) | SERVES(1) | SERVES(2) | SERVES(3) | SERVES(4) | SERVES(5))
#define MAJ_SERVES MAJ(ANY_SERVES, ids[use])
#define FITS(s, k) ((KNOWS(s) & ~later[k]) == 0 && (T[s] & ~(major[k] | same[k])) == 0 && (J[s] == 0 || ((major[k] | same[k]) & BIT(J[s]))))
inline adopt() {
	for (k : 1 .. lists) {
		p = use; use = k;
		use = (p == 0 && size[ids[k]] == n && (x & ~ids[k]) == 0 && MAJ_SERVES -> k : p)
	}
}
inline follow() { /* a server of the list knows a later one: those that serve it change to one of the same ids that is later still */
	x = ids[use]; propose(CALM);
	for (i : 0 .. S-1) {
		if
		:: (CALM >> i & 1) && SERVING(i) && (later[new] & BIT(use)) -> J[i] = new; last[i] = new
		:: else
		fi
	}
	p = use; use = new;
	use = (MAJ_SERVES -> new : p)
}
inline mend() { /* those of the list that do not serve it swap late, or take and join it */
	for (i : 0 .. S-1) {
		if
		:: !(CALM >> i & 1) || !(id[i] & ids[use]) || SERVING(i)
		:: else ->
			if
			:: T[i] == 0 && (near[use] & BIT(J[i])) && (later[use] & BIT(J[i])) -> J[i] = use; last[i] = use
			:: else ->
				T[i] = (last[i] != use && FITS(i, use) -> T[i] | BIT(use) : T[i]);
				last[i] = (T[i] & BIT(use) -> use : last[i]);
				if
				:: last[i] == use && MAJ_SERVES -> J[i] = use; T[i] = 0
				:: else
				fi
			fi
		fi
	}
}
inline replace() { /* c, which is in no list, comes in */
	propose(CALM);
	T[c] = (last[c] != new && FITS(c, new) -> T[c] | BIT(new) : T[c]);
	last[c] = (T[c] & BIT(new) -> new : last[c]);
	for (i : 0 .. S-1) {
		if
		:: (CALM >> i & 1) && last[c] == new && SERVING(i) && (later[new] & BIT(use)) -> J[i] = new; last[i] = new
		:: else
		fi
	}
	p = use; use = new;
	use = (MAJ_SERVES -> new : p)
}
inline make() { /* all take a list, and when all have taken it, join it */
	propose(CALM); p = 1;
	for (i : 0 .. S-1) {
		if
		:: CALM >> i & 1 ->
			T[i] = (last[i] != new && FITS(i, new) -> T[i] | BIT(new) : T[i]);
			last[i] = (T[i] & BIT(new) -> new : last[i]);
			p = p && last[i] == new
		:: else
		fi
	}
	for (i : 0 .. S-1) {
		if
		:: (CALM >> i & 1) && p -> J[i] = new; T[i] = 0
		:: else
		fi
	}
}
#define GONE(s) (IN(s, use) && (CALM >> s & 1) && J[s] != use && !(later[use] & BIT(J[s])) && J[s] -> id[s] : 0)
#define IS_OVER (MAJ(GONE(0) | GONE(1) | GONE(2) | GONE(3) | GONE(4) | GONE(5), ids[use]) || !MAJ(x, ids[use]) || \
	!(ANY_SERVES || RULE(Over)))
inline calm() {
	for (round : 1 .. 6) {
		survey(CALM, use);
		use = (use && IS_OVER -> 0 : use);
		for (i : 0 .. S-1) {
			if
			:: !RULE(Forget) && (CALM >> i & 1) && use && J[i] && T[i] == 0 && !(ids[use] & id[i]) && (later[use] & BIT(J[i])) &&
				(same[use] & BIT(J[i])) -> renew(i)
			:: else
			fi
		}
		survey(CALM, use);
		for (i : 0 .. S-1) { c = ((CALM >> i & 1) && use && !(id[i] & ids[use]) && J[i] == 0 -> i : c) }
		adopt();
		if
		:: use && c < S && size[x & ids[use]] == n - 1 -> replace(); mend()
		:: use && c == S && BEHIND(CALM, use) && !RULE(Again) -> follow(); mend()
		:: use && c == S && !(BEHIND(CALM, use) && !RULE(Again)) -> mend()
		:: use == 0 -> make()
		:: else
		fi
	}
	survey(CALM, use);
	for (i : 0 .. S-1) { assert(!(CALM >> i & 1) || use && SERVING(i)) } /* Calm */
	for (i : 0 .. S-1) { id[i] = 0; J[i] = 0; T[i] = 0; last[i] = 0; hold[i] = 0; holder[i] = 0; guard[i] = 0 }
	for (p : 0 .. 1) { left[p] = 0; got[p] = 0; lab[p] = 0 }
	lists = 0; losses = 0; restarts = 0; older = 0; x = 0; use = 0; p = 0; n = 0; c = S; top = 0; new = 0
}

/* ---- The world ---- */

#define AWAY(s, k) (!(CALM >> s & 1) && (id[s] & ids[k]))
#define USABLE(k) (k <= lists && adopted[k] && where[k] == CALM && \
	!(AWAY(0, k) || AWAY(1, k) || AWAY(2, k) || AWAY(3, k) || AWAY(4, k) || AWAY(5, k))) /* by a process that has adopted it before */

active proctype Processes() {
	d_step {
		c_code { for (int m = 0; m < 256; m++) size[m] = __builtin_popcount(m); }; losses = LOSSES; restarts = RESTARTS; older = OLDER;
		lists = 1; ids[1] = OLD; where[1] = OLD; turn[1] = 1; yes[1] = OLD; asked[1] = 1; adopted[1] = 1; major[1] = BIT(1);
		for (i : 0 .. S-1) {
			next[i] = i; fresh = ((OLD | NEW) >> i & 1 -> i + 1 : fresh);
			id[i] = (OLD >> i & 1 -> BIT(i) : 0); J[i] = (id[i] -> 1 : 0); last[i] = J[i]
		}
		i = 0
	}
	atomic { run Server(0); run Server(1); run Server(2); run Server(3); run Server(4); run Server(5) }
	do
	PROPOSE(OLD) PROPOSE(NEW)
	CHANGE(1)
	CHANGE(2)
	CHANGE(3)
	CHANGE(4)
	CARRY(2) CARRY(3)
	CARRY(4) CARRY(5)
	:: atomic { CALM -> printf("messages flow, and only processes with addresses %d are left\n", CALM);
		if :: use = 0 :: USABLE(1) -> use = 1 :: USABLE(2) -> use = 2 :: USABLE(3) -> use = 3 fi; d_step { calm(); round = 0 }; break }
	:: d_step { ENDS && !ended -> ended = 1; printf("the old processes have ended\n") }
	:: d_step { (guard[0] | guard[1] | guard[2] | guard[3] | guard[4] | guard[5] | hold[0] | hold[1] | hold[2] | hold[3] | hold[4]
		| hold[5] | left[0] | left[1]) ->
		printf("a tick passes\n");
		for (i : 0 .. S-1) {
			guard[i] = (guard[i] -> guard[i] - 1 : 0); hold[i] = (hold[i] -> hold[i] - 1 : 0);
			holder[i] = (hold[i] -> holder[i] : 0)
		}
		for (p : 0 .. 1) { left[p] = (left[p] -> left[p] - 1 : 0); got[p] = (left[p] -> got[p] : 0); lab[p] = (left[p] -> lab[p] : 0) }
		p = 0
	}
	od
}
