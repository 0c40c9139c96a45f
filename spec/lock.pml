/*
The lock of one name as a specification that spin checks. spec/check.sh runs it; redlock/doc.go and internal/guard describe the protocol.
How to read Promela: see jobs.pml.

What it is about. Three nodes keep the record of one lock: who holds it, for how long, and its number. An acquisition asks all nodes. It
wins a lease if a majority has granted, while it is valid. Its token is the largest number of this majority. A process is a series of
acquisitions, so there are only acquisitions here, and each is made once.

What needs no step of its own:
  - An acquisition that does nothing more: its process has crashed, or is paused or cut off.
  - A request, and a release, stay in the network forever. A node may handle them late, and more than once, or never.
  - An acquisition gets a reply when the node sends it, or never. If a reply is late, it might as well have acted late.

Time. A tick passes at any moment. Whatever lasts for some time is a number of ticks that are left of it, so time has no end. A lease
lasts for TTL, and it is the longest one. Clocks run at the same rate; the code has a margin for those that do not.

Tokens. A node that may have lost numbers starts again from its clock, which is above all numbers that any node had given when its guard
began: numbers grow slower than the clock, and the guard lasts longer than clocks differ. So that clock is the largest number here.

Not in it: the line of those who wait, repair, the length of the list, extensions of a lease, clocks that are set back.
*/

/* The size, unless spin is called with other values, such as -DLOSSES=1. */
#ifndef ACQUISITIONS
#define ACQUISITIONS 3
#endif
#ifndef LOSSES /* how often a node loses all of its data */
#define LOSSES 0
#endif
#ifndef RESTARTS /* how often a node restarts with its data, or with an older file */
#define RESTARTS 0
#endif
#ifndef STEPS /* how often the clock of a node is stepped forward */
#define STEPS 0
#endif
#ifndef TOKENS /* 1: with numbers */
#define TOKENS 0
#endif
#ifndef TWINS /* 1: for acquisition 2, the last address leads to node 1, as if it had moved */
#define TWINS 0
#endif
#ifndef RESOURCE /* 1: holders write to a resource, with their tokens, and perhaps after their leases have ended */
#define RESOURCE 0
#endif
#ifndef GUARDED /* 1: check the property Guarded too */
#define GUARDED 0
#endif
#define NODES 3
#define MAJORITY 2
#define TTL 2
#define MOST 5 /* the largest number: see grants */

/* The rules, by the names that internal/testkit/replay has for most of them. -DWITHOUT=Guard removes the rule Guard. */
#define None     0
#define Majority 1 /* a lease needs the votes of a majority */
#define Free     2 /* a node grants only a lock that nobody else holds */
#define Validity 3 /* a lease is valid from the moment before the first request, and not from the last reply */
#define Owner    4 /* a release frees only what is still its own */
#define Guard    5 /* a node that may have lost a lock grants nothing until it has expired */
#define Restart  6 /* a node that has restarted may have lost a lock: it has another identity */
#define Clocks   7 /* a node whose clock was stepped forward has no vote for a while */
#define Twins    8 /* two addresses of one node have one vote */
#define Grow     9 /* a node's number is larger with each grant */
#define Seed     10 /* a node that may have lost numbers starts again from its clock */
#define Raised   11 /* a majority has the token before anybody sees it */
#define Fenced   12 /* the resource refuses a smaller token than one that it has seen */
#ifndef WITHOUT
#define WITHOUT None
#endif
#define RULE(name, condition) (WITHOUT == name || (condition))

/* ---- What there is ---- */

typedef Node {
	unsigned holder : 2;  /* the acquisition that holds the lock; 0: none */
	unsigned left : 2;    /* for how many ticks */
	unsigned number : 3;  /* of the last grant */
	unsigned seed : 3;    /* number from which it starts again if it may have lost some; 0: it has lost none */
	unsigned guard : 2;   /* for how many ticks it grants nothing */
	unsigned strange : 1; /* it has restarted, or lost its guard, and has not noticed yet */
	unsigned stepped : 2; /* for how many ticks it has no vote, because its clock was stepped forward */
	unsigned owed : 2;    /* for how many ticks a lock may be held that it has lost: only for the property Guarded */
	unsigned file : 2;    /* holder, time left and number in an older file */
	unsigned fileLeft : 2;
	unsigned fileNumber : 3;
	byte vote[ACQUISITIONS] /* the number that an acquisition has received from its address; 0: no vote */
}
Node node[NODES];

#define NEW   0
#define ASKS  1
#define HOLDS 2
#define OVER  3
typedef Acquisition {
	unsigned phase : 2;
	unsigned left : 2;  /* for how many ticks its lease is valid, or would be if it won now */
	unsigned token : 3; /* for the resource; 0: it has won no lease */
	unsigned place : 2  /* of its lease in the order of all leases */
}
Acquisition acquisition[ACQUISITIONS];

byte last; /* the last token */
byte seen, wrote, leases; /* the resource: token and place of the last write; how many leases there were */
byte losses, restarts, steps;

/* The node and the acquisition of a step, and its scratch variables. They are 0 between two steps. */
byte i, a, n, token, largest;

#define NODE   node[(TWINS && i == 2 && a == 2 -> 1 : i)] /* to which the address i leads */
#define MINE   acquisition[a - 1]
#define VOTE   node[i].vote[a - 1]
#define VOTED(i) (node[i].vote[a - 1] > 0)
#define VOTES  (VOTED(0) + VOTED(1) + (VOTED(2) && (!TWINS || a != 2 || RULE(Twins, !VOTED(1)))))

/* The nodes are alike, so states that differ only in their order are visited once: this sorts them after each step. */
#if TWINS || defined(TRACE)
#define SORT skip
#else
#define SORT c_code { int x; for (x = 0; x < 3; x++) { \
	struct Node *p = &now.node[x % 2], *z = p + 1, swapped = *p; \
	if (memcmp(p, z, sizeof *p) > 0) { *p = *z; *z = swapped; } } }
#endif

/* ---- A node ---- */

/* A request arrives, at any time after it was sent. */
#define NOTICES (NODE.strange && WITHOUT != Guard)
#define MAYGRANT (!NOTICES && NODE.guard == 0 && RULE(Free, NODE.holder == 0 || NODE.holder == a))

inline notices() { /* its guard begins */
	NODE.strange = 0;
	NODE.guard = TTL;
	NODE.seed = (TOKENS -> largest + 1 : 0);
	printf("node %d notices that it may have lost locks: it grants nothing for a while\n", i)
}

/* The same request again changes nothing, and gets the same number. Numbers end at MOST, so that there are not infinitely many states. */
inline grants() {
	d_step {
		if
		:: NODE.holder != a ->
			if
			:: TOKENS ->
				NODE.number = NODE.number + (WITHOUT != Grow || NODE.number == 0);
				NODE.number = (NODE.seed > NODE.number && WITHOUT != Seed -> NODE.seed : NODE.number);
				NODE.seed = 0
			:: else -> NODE.number = 1
			fi;
			NODE.holder = a;
			NODE.left = TTL
		:: else
		fi;
		printf("node %d grants acquisition %d number %d\n", i, a, NODE.number);
		assert(NODE.owed == 0) /* Guarded */
	};
	if
	:: MINE.phase == ASKS && RULE(Clocks, NODE.stepped == 0) -> VOTE = NODE.number
	:: true -> printf("    and its reply is lost, late, or does not count\n")
	fi
}

inline forgets() { NODE.holder = 0; NODE.left = 0 }

/* ---- An acquisition ---- */

/* Exclusion: two leases are never valid at a time. Increase: each token is larger than the one before it.
Guarded, in grants: a node that has lost a lock grants nothing until the lock has expired. */
inline wins() {
	d_step {
		for (n : 0 .. NODES - 1) { token = (node[n].vote[a - 1] > token -> node[n].vote[a - 1] : token) }
		for (n : 0 .. NODES - 1) { /* those that have voted raise their numbers, if they are lower */
			node[n].number = (TOKENS && WITHOUT != Raised && node[n].vote[a - 1] > 0 && node[n].number < token -> token : node[n].number);
			node[n].vote[a - 1] = 0
		}
		MINE.phase = HOLDS;
		MINE.left = (WITHOUT == Validity -> TTL : MINE.left);
		printf("acquisition %d has the lock, with token %d\n", a, token);
		for (n : 1 .. ACQUISITIONS) {
			assert(n == a || acquisition[n - 1].phase != HOLDS) /* Exclusion */
		}
		assert(!TOKENS || token > last); /* Increase */
		last = (TOKENS -> token : 0);
		leases = leases + RESOURCE;
		MINE.place = leases;
		MINE.token = (RESOURCE -> token : 0);
		n = 0; token = 0
	}
}

inline ends() {
	MINE.phase = OVER; MINE.left = 0;
	node[0].vote[a - 1] = 0; node[1].vote[a - 1] = 0; node[2].vote[a - 1] = 0;
	printf("acquisition %d is over\n", a)
}

/* Writes: a write of a lease does not come after one of a later lease. */
inline writes() {
	printf("the resource takes a write of acquisition %d, with token %d\n", a, MINE.token);
	assert(MINE.place >= wrote); /* Writes */
	wrote = MINE.place;
	seen = MINE.token
}

/* ---- Faults and time ---- */

#define OWES(lease) (!GUARDED -> 0 : (NODE.owed > lease -> NODE.owed : lease))
inline loses() {
	NODE.owed = OWES(NODE.left);
	forgets();
	NODE.number = 0;
	NODE.strange = 1; /* the guard is lost too */
	NODE.guard = 0;
	printf("node %d loses its data\n", i)
}
inline restartsWith(older) { /* the same data, or an older file. The older file may lack numbers, and the node does not know. */
	NODE.owed = OWES(NODE.left);
	NODE.holder = (older -> NODE.file : NODE.holder);
	NODE.left = (older -> NODE.fileLeft : NODE.left);
	NODE.number = (older -> NODE.fileNumber : NODE.number);
	NODE.guard = (older -> 0 : NODE.guard);
	NODE.strange = (WITHOUT != Restart);
	printf("node %d restarts, with an older file (1) or not (0): %d\n", i, older)
}
inline jumps() { /* the node's clock: what it keeps has expired */
	forgets();
	NODE.guard = 0; NODE.owed = 0; NODE.stepped = TTL;
	NODE.fileLeft = 0; NODE.file = 0;
	printf("the clock of node %d is stepped forward\n", i)
}

#define LESS(left) left = (left > 0 -> left - 1 : 0)
inline ticks() {
	for (i : 0 .. NODES - 1) {
		LESS(NODE.left); LESS(NODE.guard); LESS(NODE.stepped); LESS(NODE.owed); LESS(NODE.fileLeft);
		NODE.holder = (NODE.left == 0 -> 0 : NODE.holder);
		NODE.file = (NODE.fileLeft == 0 -> 0 : NODE.file)
	}
	for (a : 1 .. ACQUISITIONS) {
		LESS(MINE.left);
		if :: MINE.left == 0 && (MINE.phase == HOLDS || MINE.phase == ASKS && WITHOUT != Validity) -> ends() :: else fi
	}
	printf("a tick passes\n")
}

/* ---- The world: any node, any acquisition, and any step ---- */

proctype World() {
	do
	:: atomic {
		if :: i = 0 :: i = 1 :: i = 2 fi;
		if :: a = 1 :: a = 2 :: ACQUISITIONS > 2 -> a = 3 fi;
		if
		/* Acquisitions are alike too: they begin in their order. */
		:: i == 0 && MINE.phase == NEW && (a == 1 || acquisition[a - 2].phase != NEW) ->
			d_step { MINE.phase = ASKS; MINE.left = TTL; printf("acquisition %d asks\n", a) }
		:: MINE.phase != NEW && NOTICES -> d_step { notices() }
		:: MINE.phase != NEW && MAYGRANT && NODE.number < MOST -> grants()
		:: i == 0 && MINE.phase == ASKS && VOTES >= (WITHOUT == Majority -> 1 : MAJORITY) -> wins()
		/* It gives up, or is done. Then it releases what it has on the nodes. */
		:: i == 0 && (MINE.phase == ASKS || MINE.phase == HOLDS) -> d_step { ends() }
		:: MINE.phase == OVER && NODE.holder != 0 && RULE(Owner, NODE.holder == a) ->
			d_step { printf("node %d gets the release of acquisition %d\n", i, a); forgets() }
		/* Its process has been paused, and does not know that the lease is over. */
		:: i == 0 && MINE.token > 0 && RULE(Fenced, MINE.token >= seen) -> d_step { writes() }
		:: a == 1 && losses < LOSSES -> d_step { losses++; loses() }
		:: a == 1 && restarts < RESTARTS -> d_step { restarts++; restartsWith(0) }
		:: a == 1 && restarts < RESTARTS -> d_step { restarts++; restartsWith(1) }
		:: a == 1 && RESTARTS > 0 && restarts < RESTARTS -> /* a file is written */
			d_step { NODE.file = NODE.holder; NODE.fileLeft = NODE.left; NODE.fileNumber = NODE.number }
		:: a == 1 && steps < STEPS -> d_step { steps++; jumps() }
		:: a == 1 && i == 0 -> d_step { ticks() }
		:: else
		fi;
		d_step {
			for (i : 0 .. NODES - 1) { largest = (TOKENS && NODE.number > largest -> NODE.number : largest) }
			i = 0; a = 0; SORT
		}
	}
	od
}

init { atomic { run World() } }
