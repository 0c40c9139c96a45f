/*
What leaders and people have decided about jobs, while the list of nodes changes, as a specification that spin checks. spec/check.sh runs
it; internal/lists describes the protocol. How to read Promela: see jobs.pml.

Property Kept: once a majority of a list has a person's request, here a pause, a leader that then begins to lead any later list finds it.
Within one list, jobs.pml shows that. Here lists change, again and again, also if nobody leads in between. Property Calm: while no server
has lost anything, no leader takes what came before it for lost.

With LOSSES, servers lose their data, and what is kept is that a tick is settled: it has started, or was missed. Property Once: a tick that
a majority of a list has as settled is not started by any later leader, also if servers have lost that.

Words. A server is in the list J, and has taken the lists T since, as in lists.pml. If it owes, no leader may have written all jobs in its
list yet. Then it also knows the lists that it may owe to.

The tick is due from the beginning. A server is young if it has joined its first list, or lost its data, since then: so it may have lost
that the tick was settled. A leader that hears a young server without the tick does not start it, unless that server is new: it had nothing
to lose; or a majority of the list has stored what an earlier leader of the list wrote, and owes nothing.

What is left out. All servers take a list in one step, and so a swap is one step; with LOSSES, all join it in one step too, and know
of the jobs. That two lists are not in use at a time is shown by lists.pml, and what two leaders of one list do at a time by jobs.pml. All
jobs are one write: a leader writes what it has found to one server after the other. A person's force, and that a debt ends after a month, are decisions against these properties.
*/

/* The size, unless spin is called with other values, such as -DOLD=31. A set is a number whose bits are its members: 7 is servers 0, 1
and 2. */
#ifndef OLD /* the servers of list 1 */
#define OLD 7
#endif
#ifndef LISTS /* how many there may be, at most 4 */
#define LISTS 3
#endif
#ifndef S /* servers */
#define S 5
#endif
#ifndef LOSSES /* how often a server loses its data */
#define LOSSES 0
#endif

/* The rules. -DWITHOUT=Joined removes the rule Joined. */
#define None   0
#define Joined 1 /* take: the new list has a majority of the list in which the server is joined, */
#define Owed   2 /* and, while it owes, of each list that it owes to */
#define Mark   3 /* join: a server that joins another list owes, if a server of the new list knows of jobs, */
#define Told   4 /* also if it does not know of them itself */
#define Heard  5 /* a leader hears a majority that does not owe, or all servers of its list */
#define Paid   6 /* a server owes until a leader's writes are on a majority of its list */
#define New    7 /* a server that owes may be new, */
#define Fresh  8 /* if it was in no list when it took its first one, */
#define Known  9 /* which has a majority of each list that is owed to, */
#define Came   10 /* if it has not come in by a swap, */
#define Lost   11 /* and if it has lost nothing since */
#ifndef WITHOUT
#define WITHOUT None
#endif
#define RULE(name) (WITHOUT == name) /* the rule is removed */

#define L 5 /* lists, and one that is none */
byte J[S], T[S], last[S];       /* T is a set of lists */
bit knows[S], has[S], owes[S];  /* that there are jobs; the pause */
byte to[S];                     /* the lists that the server owes to */
byte ids[L], lists;
byte got[L], wrote[L];          /* the servers that said that they have the pause, and those that have a leader's writes */
bit jobs[L], leads[L], finds[L];/* whether its servers knew of jobs when they took it; a leader leads it; and has found the pause */
byte debts[L];                  /* the lists that its servers knew and owed to when they took it */
bit young[S], isNew[S], stored[S]; /* stored: what a leader wrote, since its last loss */
bit acknowledged, led, blocked; /* led: by somebody, in a list after the first one */
byte gone, losses;              /* gone: the servers that have lost everything, so that others are in their places */
hidden byte size[64], i, k, new, heard, whole;

#define BIT(b) (1 << (b))
#define MAJ(some, all) (2 * size[(some) & (all)] > size[all])
#define IN(s, k) (ids[k] >> s & 1)
#define SERVES(s, k) (J[s] == k && T[s] == 0)

/* The new list has a majority of each list that the server remembers. That it has one of the lists taken (T) is a rule of lists.pml. */
#define MAJ_OF(k, set) (!((set) >> k & 1) || MAJ(new, ids[k]))
/* Or it has the same addresses: all others of that list are gone. */
#define FOLLOWS(k, set) (MAJ_OF(k, set) || size[new] == size[ids[k]] && (ids[k] & ~new & ~gone) == 0)
#define FOLLOWS_ALL(set) (FOLLOWS(1, set) && FOLLOWS(2, set) && FOLLOWS(3, set) && FOLLOWS(4, set))
#define HAS_ALL(set) (MAJ_OF(1, set) && MAJ_OF(2, set) && MAJ_OF(3, set) && MAJ_OF(4, set))
#define MAY_TAKE(s) (!(gone >> s & 1) && (J[s] == 0 || RULE(Joined) || FOLLOWS_ALL(BIT(J[s]))) && FOLLOWS_ALL(T[s]) && \
	(!owes[s] || RULE(Owed) || FOLLOWS_ALL(to[s])))

/* Servers are alike at first, so list 2 has the first ones of those with the same state. */
#define ISFIRST(i) (i == 0 || (new >> (i - 1) & 1) || J[i] != J[i - 1] || knows[i] != knows[i - 1])
#define FRESH(i) (J[i] == 0 && T[i] == 0 && !(gone >> i & 1))

/* All servers of a new list take it. Whoever asked them tells those which join it what they owe. */
inline change() {
	for (i : 0 .. S-1) {
		if :: (lists > 1 && !(i && FRESH(i) && FRESH(i - 1)) || ISFIRST(i)) -> new = new | BIT(i); heard = heard | J[i] | T[i] :: true fi
	}
	if
	:: (size[new] & 1) && heard ->
		for (i : 0 .. S-1) { if :: (new >> i & 1) && !MAY_TAKE(i) -> new = 0 :: else fi }
	:: else -> new = 0
	fi;
	if
	:: new ->
		lists++; ids[lists] = new;
		for (i : 0 .. S-1) {
			if
			:: new >> i & 1 ->
				jobs[lists] = jobs[lists] | knows[i] | owes[i] | LOSSES > 0;
				debts[lists] = debts[lists] | (J[i] -> BIT(J[i]) : 0) | (owes[i] -> to[i] : 0);
				T[i] = T[i] | BIT(lists); last[i] = lists
			:: else
			fi
		}
		for (i : 0 .. S-1) {
			if
			:: (new >> i & 1) && J[i] == 0 && !RULE(Told) -> owes[i] = jobs[lists]; to[i] = to[i] | debts[lists]
			:: else
			fi;
			isNew[i] = ((new >> i & 1) && (J[i] == 0 || RULE(Fresh)) && !RULE(New) -> HAS_ALL(debts[lists]) || RULE(Known) : isNew[i]);
			young[i] = young[i] || (new >> i & 1) && J[i] == 0
		}
		printf("the servers %d take list %d\n", new, lists)
	:: else
	fi
}

inline joins(s) {
	owes[s] = !RULE(Mark) && (RULE(Told) -> knows[s] : jobs[last[s]]);
	to[s] = (owes[s] -> debts[last[s]] : 0);
	isNew[s] = isNew[s] && owes[s];
	J[s] = last[s]; T[s] = 0;
	printf("server %d joins list %d\n", s, J[s])
}

/* A server that is in no list comes in for one that is gone. Those that serve list k tell it what they owe, and do not owe to list k. */
inline swap(k) {
	for (i : 0 .. S-1) { heard = heard | (SERVES(i, k) -> BIT(i) : 0); jobs[0] = jobs[0] | (SERVES(i, k) && owes[i]) }
	for (i : 0 .. S-1) {
		if
		:: new == 0 && J[i] == 0 && T[i] == 0 && !(gone >> i & 1) -> new = BIT(i) | (ids[k] & ~gone)
		:: else
		fi
	}
	if
	:: MAJ(heard, ids[k]) && new && size[ids[k] & gone] == 1 && size[ids[k]] == size[new] ->
		lists++; ids[lists] = new; jobs[lists] = jobs[0];
		for (i : 0 .. S-1) { debts[lists] = debts[lists] | (SERVES(i, k) && owes[i] -> to[i] : 0) }
		for (i : 0 .. S-1) {
			if
			:: (new >> i & 1) && J[i] == 0 ->
				owes[i] = jobs[lists]; to[i] = (owes[i] -> debts[lists] : 0); young[i] = 1; isNew[i] = RULE(Came) && owes[i]; J[i] = lists;
				last[i] = lists
			:: SERVES(i, k) -> J[i] = lists; last[i] = lists
			:: else
			fi
		}
		printf("list %d is swapped for list %d of the servers %d\n", k, lists, new)
	:: else
	fi;
	jobs[0] = 0
}

/* It loses what it knows of jobs, or everything: then it is gone. */
inline lose(s, all) {
	losses--; has[s] = 0; stored[s] = 0; young[s] = 1; isNew[s] = isNew[s] && RULE(Lost);
	if
	:: all -> gone = gone | BIT(s); J[s] = 0; T[s] = 0; last[s] = 0; knows[s] = 0; owes[s] = 0; to[s] = 0; young[s] = 0; isNew[s] = 0;
		printf("server %d loses everything\n", s)
	:: else -> printf("server %d loses its jobs\n", s)
	fi
}

/* A leader hears some servers of its list. It finds what any of them has. */
inline leader(k) {
	heard = 0; whole = 0;
	for (i : 0 .. S-1) {
		if
		:: SERVES(i, k) -> heard = heard | BIT(i); whole = whole | (owes[i] -> 0 : BIT(i))
		:: true
		fi
	}
	if
	:: heard == ids[k] || MAJ(whole, ids[k]) || RULE(Heard) && MAJ(heard, ids[k]) ->
		leads[k] = k < LISTS || LOSSES; /* what a leader of the last list does then matters to nobody */
		whole = 0; finds[k] = 0; wrote[k] = 0;
		for (i : 0 .. S-1) {
			finds[k] = finds[k] | ((heard >> i & 1) && has[i]);
			knows[i] = knows[i] | (LOSSES == 0 && leads[k] && (heard >> i & 1));
			blocked = blocked || (heard >> i & 1) && !has[i] && young[i] && !(owes[i] && isNew[i] && !stored[i]) && (owes[i] || !stored[i]);
			whole = whole | ((heard >> i & 1) && stored[i] && !owes[i] -> BIT(i) : 0)
		}
		blocked = blocked && !MAJ(whole, ids[k]);
		printf("a leader of list %d hears the servers %d\n", k, heard);
		assert(LOSSES || led || !blocked || RULE(Mark) || RULE(Told)); /* Calm. Without these rules, no server says that it is new */
		assert(!acknowledged || finds[k] || LOSSES && blocked); /* Kept, or Once */
		finds[k] = (finds[k] || blocked) && leads[k];
		if
		:: LOSSES && !finds[k] -> finds[k] = 1; printf("... and starts the tick\n")
		:: true
		fi;
		led = LOSSES == 0; blocked = 0
	:: else
	fi;
	heard = 0; whole = 0
}

#define SERVER(s) \
	:: d_step { LOSSES == 0 && T[s] -> joins(s) } \
	:: d_step { LOSSES == 0 && knows[s] && J[s] > 1 && T[s] == 0 && !acknowledged && !(got[J[s]] >> s & 1) -> \
		has[s] = 1; got[J[s]] = got[J[s]] | BIT(s); acknowledged = MAJ(got[J[s]], ids[J[s]]); \
		printf("server %d has the pause, in list %d\n", s, J[s]) } \
	:: d_step { leads[J[s]] && T[s] == 0 && !(wrote[J[s]] >> s & 1) -> \
		has[s] = has[s] | finds[J[s]]; knows[s] = LOSSES == 0; stored[s] = 1; wrote[J[s]] = wrote[J[s]] | BIT(s); \
		acknowledged = acknowledged || LOSSES && finds[J[s]] && MAJ(wrote[J[s]], ids[J[s]]); \
		printf("server %d stores what the leader of list %d writes\n", s, J[s]) } \
	:: d_step { owes[s] && T[s] == 0 && leads[J[s]] && (MAJ(wrote[J[s]], ids[J[s]]) || RULE(Paid)) -> \
		owes[s] = 0; to[s] = 0; isNew[s] = 0; printf("server %d owes nothing more\n", s) } \
	:: d_step { losses && acknowledged && J[s] -> lose(s, 0) } \
	:: d_step { losses && acknowledged && J[s] -> lose(s, 1) }

active proctype World() {
	d_step {
		c_code { for (int m = 0; m < 64; m++) size[m] = __builtin_popcount(m); };
		lists = 1; ids[1] = OLD; losses = LOSSES;
		for (i : 0 .. S-1) { J[i] = OLD >> i & 1; last[i] = J[i]; stored[i] = J[i] }
	}
	atomic { /* a leader has led, and perhaps somebody has paused the job: a bare majority knows. Servers are alike, so it is the first ones. */
		if :: acknowledged = 1 :: true fi;
		for (i : 0 .. S-1) {
			if
			:: J[i] && !MAJ(heard, OLD) -> knows[i] = LOSSES == 0; has[i] = acknowledged; heard = heard | BIT(i)
			:: else
			fi
		}
		heard = 0; i = 0
	}
	do
	SERVER(0)
	SERVER(1)
	SERVER(2)
	SERVER(3)
#if S > 4
	SERVER(4)
#endif
#if S > 5
	SERVER(5)
#endif
	:: atomic { lists < LISTS -> change(); new = 0; heard = 0; i = 0 }
	:: d_step { LOSSES -> for (k : 0 .. S-1) { if :: T[k] && last[k] == lists -> joins(k) :: else fi } k = 0 } /* all at a time */
	:: d_step { LOSSES && lists == 1 && LISTS > 1 -> swap(1); new = 0; heard = 0; i = 0 }
	:: d_step { LOSSES && lists == 2 && LISTS > 2 -> swap(2); new = 0; heard = 0; i = 0 }
	:: d_step { LOSSES && lists == 3 && LISTS > 3 -> swap(3); new = 0; heard = 0; i = 0 }
	:: atomic { lists > 1 && (!leads[2] || LOSSES) -> leader(2); i = 0 }
	:: atomic { lists > 2 && (!leads[3] || LOSSES) -> leader(3); i = 0 }
	:: atomic { lists > 3 && (!leads[4] || LOSSES) -> leader(4); i = 0 }
	od
}
