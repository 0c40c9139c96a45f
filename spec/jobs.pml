/*
The job store as a specification that spin checks. spec/check.sh runs it; internal/jobstore/doc.go describes the protocol.

How to read it. Spin visits every state that can be reached from the beginning (init). World, at the end, is a loop of alternatives (::).
An alternative begins with a condition, then "->", then what it changes. Any alternative whose condition holds may be the next step.
A step is atomic: nothing comes between its parts. If an assertion fails, spin prints the steps that led there. "inline" names a part of
the text. (c -> x : y) is x if c holds, else y.

What it is about. Three nodes keep the state of one job. Leaders write that state as a whole: up to which tick everything is settled,
whether the last of these ticks is open, and whether a person's request, here a pause, is applied. A leader starts the run of a tick once
a majority has stored a state in which the tick is open. Each leader has a ballot, a number that says whose writes are later.

What needs no step of its own:
  - A leader that does nothing more has crashed, or is paused or cut off.
  - A request stays in the network forever. A node may handle it late, and more than once. If it never does, the request was lost.
  - A leader gets a reply when the node sends it, or never. If a reply is late, the leader might as well have acted late.

Time. Clocks appear only in comparisons of "clock + 2 s" with the instant at which a ballot was taken, or at which a tick is due. So an
instant is a small number, and a node has its clock + 2 s. The clocks of the nodes move independently, as far apart as the instants are.
A request has the instant at which it was made. Between two instants, a request has the time to be acknowledged.

Not in it: later ballots of the same leader, runs that are repeated after a crash (AtLeastOnce), several jobs in one write, ends of runs,
nodes whose clocks are set back (epochs), data that somebody else has written, deleted jobs, liveness.
*/

/* The size, unless spin is called with other values, such as -DBALLOTS=3. */
#ifndef BALLOTS
#define BALLOTS 2
#endif
#ifndef WRITES /* of each ballot, at most 2 */
#define WRITES 2
#endif
#ifndef TICKS /* tick t is due at the instant t */
#define TICKS 2
#endif
#ifndef LATEST /* the last instant; the first is 1 */
#define LATEST 2
#endif
#ifndef FLUSHES /* how often a node loses all of its data */
#define FLUSHES 0
#endif
#ifndef OLDER /* how often a node restarts, with its data or with an older file */
#define OLDER 0
#endif
#ifndef REQUESTS /* 1 if somebody pauses the job */
#define REQUESTS 0
#endif
#ifndef LED /* 1: ballot 1 leads from the start, all nodes have its first write, and it has polled them for requests */
#define LED 0
#endif
#define NODES 3
#define MAJORITY 2

/* The rules. -DWITHOUT=Promise removes the rule Promise: then RULE(Promise, condition) is true whatever the condition is. */
#define None      0
#define Promise   1  /* the ballot that a node has promised never falls while the node keeps its state */
#define Serve     2  /* a node stores no state under a smaller ballot than the one that it has promised */
#define Fresh     3  /* and none under a ballot that was taken before it began with no state or an old one, or less than 2 s after */
#define Ahead     4  /* and none under a ballot that is more than 2 s ahead of its clock */
#define Due       5  /* and no state whose last tick is more than 2 s ahead of its clock */
#define Order     6  /* a later write of a ballot is not replaced by an earlier one */
#define Raise     7  /* a write is a promise too */
#define Chosen    8  /* a new leader goes on from the state that was written last */
#define Stale     9  /* a node that may have lost its state does not vouch for what it has */
#define Vouched   10 /* only a majority vouches for a state */
#define Floor     11 /* if none does, no tick is opened that may have been opened under the lost states */
#define Opened    12 /* a run starts only if a majority has stored a state in which it is open */
#define Asked     13 /* a leader asks a majority for requests before its first write */
#define Applied   14 /* a leader's states have the request that was applied in the state from which it goes on */
#define Forgotten 15 /* nodes forget a request only if a majority has stored a state in which it is applied */
#define Lacking   16 /* a node that may have lost a request counts as one that has it */
#define Soon      17 /* a request is acknowledged soon after it was made, or never */
#ifndef WITHOUT
#define WITHOUT None
#endif
#define RULE(name, condition) (WITHOUT == name || (condition))

/* ---- What there is ---- */

/* A write is a state of the job that a leader has sent to the nodes. Its number is its place in the order of all writes. All nodes
begin with write 0: nothing is settled. */
#define NUMBER(ballot, n) ((ballot - 1) * WRITES + n) /* of the n-th write of a ballot, n = 1, 2, ... */
#define BALLOT(number) ((number + WRITES - 1) / WRITES)

typedef Write {
	unsigned mark : 2;    /* all ticks up to this one are settled or open; 0: none is */
	unsigned open : 1;    /* the tick "mark" is open */
	unsigned applied : 1  /* the request is applied */
}
Write write[BALLOTS * WRITES + 1];

/* What a node has, as it says in the reply to a prepare. */
#define NOREPLY 0 /* there is no reply yet */
#define EMPTY   1 /* it has no state */
#define STALE   2 /* it has a state, and may have lost later ones */
#define PRESENT 3 /* it has a state, and has lost none since it began */

/* The reply to a poll. */
#define LACKS 1
#define LOST  2 /* it has lost requests that were made before it began, perhaps this one too */
#define HAS   3

/* What a leader has received from a node. */
typedef Reply {
	unsigned has : 2;     /* to a prepare: NOREPLY, EMPTY, STALE or PRESENT */
	unsigned number : 4;  /* to a prepare: the write that the node has */
	unsigned began : 3;   /* to a prepare: see Node */
	unsigned stored : 1;  /* the node has stored the leader's last write */
	unsigned request : 2  /* to a poll: NOREPLY, LACKS, LOST or HAS */
}

typedef Node {
	unsigned clock : 3;    /* + 2 s */
	unsigned began : 3;    /* clock when the node began with no state or an old one; 0: long ago */
	unsigned promised : 2; /* the largest ballot that it has promised since */
	unsigned has : 2;      /* EMPTY, STALE or PRESENT */
	unsigned number : 4;   /* of the write that it has */
	unsigned request : 1;  /* the request waits here */
	unsigned told : 1;     /* the person knows that it does */
	Reply reply[BALLOTS]
}
Node node[NODES];

typedef Leader {
	unsigned taken : 3;   /* when its ballot was taken */
	unsigned leads : 1;   /* it has decided from which state it goes on */
	unsigned mark : 2;    /* of the last state that a majority has stored; at first, of that from which it goes on */
	unsigned applied : 1; /* the request is applied in that state, or will be in the next one */
	unsigned sent : 2;    /* how many writes it has sent */
	unsigned asked : 1;   /* a majority has said whether it has the request */
	unsigned vain : 1;    /* later, too few nodes had it */
	unsigned base : 2;    /* the ballot of the state from which it goes on */
	unsigned after : 1;   /* it began to lead after the request was acknowledged */
	unsigned stored : 1   /* a majority has stored a state of this leader in which the request is applied */
}
Leader leader[BALLOTS];

bool started[TICKS + 1]; /* by tick */
byte made;               /* when the request was made */
bool acknowledged;       /* the person knows that the request waits at a majority */
bool late;               /* it is too late for that */
bool strayed;            /* a leader went on although no majority knew the state, or the request: two nodes have lost it, or were away */
byte flushes, older;

/* The node and the ballot of a step, and its scratch variables. They are 0 between two steps. */
byte i, b, n, best, worst, all, floor, vouch;

#define NODE   node[i]
#define LEADER leader[b - 1]
#define REPLY  node[i].reply[b - 1]
#define COUNT(what) ((node[0].reply[b - 1].what) + (node[1].reply[b - 1].what) + (node[2].reply[b - 1].what))
#define CLEAR(what, value) node[0].reply[b - 1].what = value; node[1].reply[b - 1].what = value; node[2].reply[b - 1].what = value

/* The nodes are alike. So states that differ only in the order of the nodes are visited once: this sorts the nodes after each step.
Spin cannot print steps with that, as a node has another number after it. */
#ifdef TRACE
#define SORT skip
#else
#define SORT c_code { int x; for (x = 0; x < 3; x++) { \
	struct Node *a = &now.node[x % 2], *z = a + 1, swapped = *a; \
	if (memcmp(a, z, sizeof *a) > 0) { *a = *z; *z = swapped; } } }
#endif

/* ---- Properties ---- */

/* Once: no tick is started twice.
Kept: once the request is acknowledged, a leader that then begins to lead applies it in its first state that a majority stores. So it opens
no tick after that. */
inline start() {
	printf("ballot %d starts tick %d\n", b, LEADER.mark);
	assert(!started[LEADER.mark]); /* Once */
	started[LEADER.mark] = true
}

/* ---- A node and the requests of a ballot ---- */

/* A node that lost its state stores nothing that it can have refused before: it served no ballot that was further Ahead of its clock, so
no ballot that is Fresh now. */
#define SERVES (RULE(Fresh, LEADER.taken > NODE.began) && RULE(Ahead, LEADER.taken <= NODE.clock))

/* Prepare: the node promises the ballot, and says what it has. */
inline promises() {
	d_step { NODE.promised = b; if :: REQUESTS && made < LEADER.taken -> expires() :: else fi; printf("node %d promises ballot %d, and has write %d\n", i, b, NODE.number) };
	if
	:: !LEADER.leads && REPLY.has == NOREPLY ->
		d_step {
			REPLY.has = NODE.has;
			REPLY.number = NODE.number;
			REPLY.began = (NODE.has == PRESENT -> 0 : NODE.began) /* which nobody asks for then */
		}
	:: true -> printf("    and its reply is lost, or was received before\n")
	fi
}

/* Write: the node stores the n-th state of the ballot. */
#define ISLATER(number, than) (number > than && BALLOT(number) == BALLOT(than))
#define MAYSTORE(n) (LEADER.sent >= n && RULE(Serve, NODE.promised <= b) && SERVES && \
	RULE(Order, !(NODE.has == PRESENT && ISLATER(NODE.number, NUMBER(b, n)))) && RULE(Due, write[NUMBER(b, n)].mark <= NODE.clock))
#define ENOUGH (WITHOUT == Opened -> 1 : MAJORITY)

inline stores(nth) {
	d_step {
		NODE.has = PRESENT; NODE.number = NUMBER(b, nth);
		NODE.promised = (NODE.promised < b && WITHOUT != Raise -> b : NODE.promised);
		printf("node %d stores write %d, of ballot %d\n", i, NODE.number, b)
	};
	if
	:: LEADER.sent == nth && !REPLY.stored ->
		d_step {
			REPLY.stored = 1;
			if :: COUNT(stored) == ENOUGH -> decided(NUMBER(b, nth)) :: else fi
		}
	:: true -> printf("    and its reply is lost, or nobody waits for it\n")
	fi
}

/* The leader's last write is on a majority. Further replies change nothing. */
inline decided(number) {
	assert(!LEADER.after || strayed || write[number].applied); /* Kept */
	LEADER.mark = write[number].mark;
	LEADER.stored = LEADER.stored || write[number].applied;
	CLEAR(stored, 1);
	if :: write[number].open -> start() :: else fi
}

/* Poll: the node says whether it has the request. A leader polls before its first write, and again when the request is no longer in time. */
#define POLLS (!LEADER.asked || late && !LEADER.applied && !LEADER.vain)
inline answers() {
	REPLY.request = (NODE.request -> HAS : (made <= NODE.began -> LOST : LACKS));
	printf("node %d answers ballot %d: %d (1: lacks the request, 2: may have lost it, 3: has it)\n", i, b, REPLY.request)
}

/* The leader tells the node to forget the request, because it is applied, or because too few nodes had it. */
#define MAYFORGET (NODE.request && NODE.promised <= b && SERVES && (LEADER.stored || LEADER.vain || \
	WITHOUT == Forgotten && LEADER.sent > 0 && write[NUMBER(b, LEADER.sent)].applied))

/* ---- A leader ---- */

/* A majority has promised the ballot. The leader goes on from the state that was written last. If all nodes vouch for their states, a
state that only one of them has is on no majority, and the leader may go on from the one before it. */
inline decides() {
	d_step {
		worst = 255;
		for (n : 0 .. NODES - 1) {
			if
			:: node[n].reply[b - 1].has == PRESENT || WITHOUT == Stale && node[n].reply[b - 1].has == STALE -> vouch++
			:: else -> floor = (node[n].reply[b - 1].began > floor -> node[n].reply[b - 1].began : floor)
			fi;
			if
			:: node[n].reply[b - 1].has >= STALE ->
				all = all + node[n].reply[b - 1].number;
				best = (node[n].reply[b - 1].number > best -> node[n].reply[b - 1].number : best);
				worst = (node[n].reply[b - 1].number < worst -> node[n].reply[b - 1].number : worst)
			:: else
			fi
		}
	};
	if
	:: WITHOUT == Chosen && worst != 255 -> best = worst
	:: vouch == NODES -> best = all - best - worst /* the second of three */
	:: true
	fi;
	d_step {
		strayed = REQUESTS && (strayed || vouch < MAJORITY);
		floor = (vouch >= MAJORITY || WITHOUT == Vouched && vouch > 0 || WITHOUT == Floor -> 0 : floor);
		LEADER.leads = 1;
		LEADER.after = acknowledged; LEADER.base = (REQUESTS -> BALLOT(best) : 0);
		LEADER.mark = (write[best].mark > floor -> write[best].mark : floor);
		LEADER.applied = WITHOUT != Applied && write[best].applied;
		CLEAR(has, NOREPLY); CLEAR(number, 0); CLEAR(began, 0);
		printf("ballot %d goes on from write %d, and opens no tick up to %d\n", b, best, LEADER.mark);
		best = 0; worst = 0; all = 0; floor = 0; vouch = 0; n = 0
	}
}

/* A majority has answered a poll. The request may have been acknowledged if a majority can have it: nodes that have not answered, or may
have lost it, count. But if the state was written under a ballot that was taken after the request was made, then the leader of that ballot
has asked a majority for it, and nodes that may have lost it do not count. Otherwise one node whose data somebody has forged could bring up
a request from before the other nodes began. */
#define WASASKED (LEADER.sent > 0 && made < LEADER.taken || LEADER.base > 0 && made < leader[LEADER.base - 1].taken)
#define CANHAVE (COUNT(request == HAS) + COUNT(request == NOREPLY) + (WASASKED || WITHOUT == Lacking -> 0 : COUNT(request == LOST)))
inline learns() {
	d_step {
		LEADER.applied = LEADER.applied || COUNT(request == HAS) > 0 && CANHAVE >= MAJORITY;
		strayed = strayed || !LEADER.applied && !WASASKED && COUNT(request == HAS) + COUNT(request == LACKS) < MAJORITY;
		printf("ballot %d has polled a majority: the request is applied (1) or not (0): %d\n", b, LEADER.applied);
		LEADER.vain = LEADER.asked && !LEADER.applied && COUNT(request == HAS) > 0;
		LEADER.asked = 1;
		CLEAR(request, NOREPLY)
	}
}

/* The leader sends a state that follows from the last one that a majority has stored. It may give up the write before it. */
#define MAYSEND (LEADER.leads && LEADER.sent < WRITES && (!REQUESTS || RULE(Asked, LEADER.asked)))
#define MAYOPEN(tick) (tick <= TICKS && MAYSEND && !LEADER.applied && LEADER.mark < tick)

inline sends(tick, opens) {
	d_step {
		LEADER.sent++;
		n = NUMBER(b, LEADER.sent);
		write[n].mark = tick;
		write[n].open = opens;
		write[n].applied = LEADER.applied;
		CLEAR(stored, 0);
		printf("ballot %d sends write %d: up to tick %d, open %d, applied %d\n", b, n, tick, opens, LEADER.applied);
		n = 0
	}
}

/* ---- Faults, and the person ---- */

/* The node has no state or an old one. It notices that: see begin.lua. It does not know what it had promised. */
inline begins(what, which) {
	NODE.began = NODE.clock; NODE.promised = 0;
	NODE.request = NODE.request && what == STALE && which == NODE.number;
	NODE.has = what; NODE.number = which;
	n = 0;
	printf("node %d begins with write %d, or with nothing (1): %d\n", i, which, what == EMPTY)
}

/* Any write that the node may have had. */
#define WASSENT(number) (number == 0 || leader[BALLOT(number) - 1].sent >= number - NUMBER(BALLOT(number), 0))
inline picks() {
	n = NODE.number;
	do :: n > 0 -> n-- :: WASSENT(n) -> break od
}

/* The person asks the node to keep the request. */
#define INTIME RULE(Soon, !late)
inline expires() {
	late = true;
	if :: WITHOUT != Soon -> node[0].told = 0; node[1].told = 0; node[2].told = 0 :: else fi
}
inline keeps() {
	d_step { NODE.request = 1; printf("node %d keeps the request\n", i) };
	if
	:: !acknowledged && INTIME && !NODE.told ->
		d_step {
			NODE.told = 1;
			if
			:: node[0].told + node[1].told + node[2].told == MAJORITY ->
				acknowledged = true;
				node[0].told = 0; node[1].told = 0; node[2].told = 0;
				printf("    the request is acknowledged\n")
			:: else
			fi
		}
	:: true -> printf("    and its reply is lost, or nobody waits for it\n")
	fi
}

/* ---- The world: any node, any ballot, and any step ---- */

proctype World() {
	do
	:: atomic {
		if :: i = 0 :: i = 1 :: i = 2 fi;
		if :: b = 1 :: b = 2 :: BALLOTS > 2 -> b = 3 fi;
		if
		:: RULE(Promise, NODE.promised <= b) && SERVES -> promises()
		:: MAYSTORE(1) -> stores(1)
		:: MAYSTORE(2) -> stores(2)
		:: REQUESTS && LEADER.leads && POLLS && REPLY.request == NOREPLY && NODE.promised <= b && SERVES -> answers()
		:: MAYFORGET -> NODE.request = 0; printf("node %d forgets the request that ballot %d has applied\n", i, b)
		:: i == 0 && !LEADER.leads && COUNT(has != NOREPLY) >= MAJORITY -> decides()
		:: i == 0 && COUNT(request != NOREPLY) >= MAJORITY -> learns()
		:: i == 0 && MAYOPEN(1) -> sends(1, 1)
		:: i == 0 && MAYOPEN(2) -> sends(2, 1)
		/* It opens nothing: its first write settles what was open, and a later one applies the request. */
		:: i == 0 && MAYSEND && (LEADER.sent == 0 || LEADER.applied && !LEADER.stored) -> sends(LEADER.mark, 0)
		/* The request was published, and the leader learns of it while it leads. */
		:: LEADER.asked && !LEADER.applied && NODE.request -> LEADER.applied = 1
		:: b == 1 && NODE.clock < LATEST -> NODE.clock++; printf("node %d: its clock moves\n", i)
		:: b == 1 && flushes < FLUSHES -> flushes++; begins(EMPTY, 0)
		:: b == 1 && older < OLDER && NODE.has != EMPTY -> older++; picks(); begins(STALE, n)
		:: b == 1 && REQUESTS && made <= NODE.clock && (!NODE.request || !acknowledged && INTIME && !NODE.told) -> keeps()
		:: b == 1 && REQUESTS && !late -> d_step { expires() }
		:: else
		fi;
		d_step { i = 0; b = 0; SORT }
	}
	od
}

init {
	atomic {
		for (i : 0 .. NODES - 1) {
			NODE.has = PRESENT; NODE.clock = 1; NODE.promised = LED; NODE.number = LED
		}
		n = 1;
		for (b : 1 .. BALLOTS) { /* a larger ballot was not taken earlier */
			do :: n < LATEST -> n++ :: break od;
			LEADER.taken = n
		}
		if :: REQUESTS -> made = 1; do :: made < LATEST -> made++ :: break od :: else fi;
		leader[0].leads = LED; leader[0].asked = LED; leader[0].sent = LED; late = LED && made < leader[0].taken;
		i = 0; b = 0; n = 0;
		run World()
	}
}
