#!/usr/bin/env bash
# Checks the specifications with spin, and prints a table. It fails if a property fails, or if none fails without a rule.
#
#   check.sh                  all of them: all sizes, and each rule removed
#   check.sh lock             only one of them
#   check.sh deep             larger sizes too, which take long
#   check.sh trace lock RULE  a schedule that breaks a property if the rule is removed
set -euo pipefail

specs=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search visits all states, of a size given by macros of the specification, and stops at a failure. compile has flags of the
# C compiler, run has flags of the search.
search() { # MACROS COMPILE RUN...
	spin $1 -a "$specs/$spec.pml" >spin.out || { cat spin.out >&2; exit 1; }
	local level=-O2
	[ "$spec" != lists ] || level=-O1 # -O2 takes 20 s there
	gcc $level -w -DSAFETY -DNOREDUCE -DMEMLIM=4000 $2 -o pan pan.c
	./pan -E "${@:3}" >pan.out || { echo "check.sh: the search for $1 ended with status $?" >&2; exit 1; }
}

row() { printf '%-8s %-10s %-54s %-20s %10s %8s %9s\n' "$@"; }

failed=0

# check prints a row. want is "holds", or the property that must fail.
check() { # WANT WITHOUT MACROS [COMPILE]
	local depth=1000000
	[ "$2" != Lacking ] || depth=130 # a deeper search first goes where nothing fails
	search "-DWITHOUT=$2 $3" "${4:-}" -m$depth
	local result=holds
	if ! grep -q 'errors: 0$' pan.out; then
		result=$(property)
	fi
	if grep -q -e 'search was not completed' -e 'max search depth' -e 'reached -DMEMLIM' pan.out && [ "$result" = holds ]; then
		result=incomplete
	fi
	local verdict=$result
	[ "$result" = "$1" ] || { verdict="$result, NOT $1"; failed=1; }
	row "$spec" "$2" "$3 ${4:-}" "$verdict" "$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)" \
		"$(sed -n 's/^ *\([0-9.]*\).*total actual memory.*/\1/p' pan.out) MB" "$(sed -n 's/.*elapsed time \([0-9.]*\) .*/\1/p' pan.out) s"
}

# property names the property whose assertion has failed, by a word of its text.
property() {
	case $(grep 'assertion violated' pan.out) in
	*'(0&&blocked)'*) echo Kept ;;
	*'&&blocked)'*) echo Once ;;
	*'||led)'*blocked*) echo Calm ;;
	*started*) echo Once ;;
	*.after* | *finds*) echo Kept ;;
	*.phase*) echo Exclusion ;;
	*last*) echo Increase ;;
	*.owed*) echo Guarded ;;
	*wrote*) echo Writes ;;
	*'left[0]'*) echo Exclusion ;;
	*'J[i]==use'*) echo Calm ;;
	*) echo unknown ;;
	esac
}

# small has the size in which a rule is removed, and the property that fails then.
small() { # RULE
	case $spec.$1 in
	lock.Majority | lock.Free | lock.Validity) echo Exclusion -DACQUISITIONS=2 ;;
	lock.Owner) echo Exclusion -DACQUISITIONS=3 ;;
	lock.Guard) echo Exclusion -DACQUISITIONS=2 -DLOSSES=1 ;;
	lock.Restart) echo Guarded -DACQUISITIONS=2 -DRESTARTS=1 -DGUARDED=1 ;;
	lock.Clocks) echo Exclusion -DACQUISITIONS=2 -DSTEPS=1 ;;
	lock.Twins) echo Exclusion -DACQUISITIONS=2 -DTWINS=1 ;;
	lock.Grow) echo Increase -DACQUISITIONS=2 -DTOKENS=1 ;;
	lock.Seed) echo Increase -DACQUISITIONS=2 -DTOKENS=1 -DLOSSES=1 ;;
	lock.Raised) echo Increase -DACQUISITIONS=3 -DTOKENS=1 ;;
	lock.Fenced) echo Writes -DACQUISITIONS=2 -DTOKENS=1 -DRESOURCE=1 ;;
	jobs.Promise | jobs.Serve | jobs.Chosen | jobs.Opened) echo Once -DWRITES=1 -DTICKS=1 -DLATEST=1 ;;
	jobs.Order) echo Once -DLATEST=1 ;;
	jobs.Raise) echo Once -DBALLOTS=3 -DWRITES=1 -DLATEST=1 ;;
	jobs.Due) echo Once -DWRITES=1 -DFLUSHES=1 ;;
	jobs.Fresh | jobs.Ahead | jobs.Vouched | jobs.Floor) echo Once -DWRITES=1 -DTICKS=1 -DFLUSHES=1 ;;
	jobs.Stale) echo Once -DWRITES=1 -DTICKS=1 -DOLDER=1 ;;
	jobs.Asked) echo Kept -DWRITES=1 -DTICKS=1 -DREQUESTS=1 -DFLUSHES=1 ;;
	jobs.Applied | jobs.Forgotten) echo Kept -DTICKS=0 -DREQUESTS=1 -DFLUSHES=1 -DLED=1 ;;
	jobs.Soon) echo Kept -DWRITES=1 -DTICKS=1 -DREQUESTS=1 -DFLUSHES=1 ;;
	jobs.Lacking) echo Kept -DWRITES=1 -DTICKS=0 -DREQUESTS=1 -DFLUSHES=1 -DLED=1 ;;
	lists.Claim | lists.Label | lists.Joined | lists.Taken | lists.All | lists.Same) echo Exclusion -DOLD=1 ;;
	lists.Unused | lists.Turn | lists.Last | lists.Guard | lists.Moved | lists.Votes) echo Exclusion -DOLD=7 -DNEW=11 ;;
	lists.First | lists.Outsider) echo Exclusion -DOLD=7 -DNEW=11 -DLISTS=4 ;;
	lists.Id | lists.Free) echo Exclusion -DOLD=7 -DNEW=11 -DLOSSES=1 ;;
	lists.Restart) echo Exclusion -DRESTARTS=1 ;;
	lists.Again) echo Calm -DOLD=7 -DNEW=31 -DCALM=7 ;;
	lists.Over) echo Calm -DOLD=7 -DNEW=11 -DCALM=7 ;;
	lists.Forget) echo Calm -DOLD=7 -DNEW=7 -DLISTS=2 -DLOSSES=1 -DOLDER=1 -DENDS=1 -DCALM=7 ;;
	lists.Place) echo Calm -DOLD=7 -DNEW=7 -DLOSSES=2 -DCALM=7 ;;
	changes.New) echo Calm -DOLD=1 ;;
	changes.Fresh | changes.Came) echo Once -DOLD=1 -DS=4 -DLOSSES=1 ;;
	changes.Known) echo Once -DOLD=7 -DLISTS=2 -DLOSSES=2 ;;
	changes.Lost) echo Once -DOLD=1 -DS=4 -DLISTS=2 -DLOSSES=2 ;;
	changes.Joined | changes.Owed | changes.Mark | changes.Told | changes.Heard | changes.Paid) echo Kept -DOLD=1 ;;
	*) echo "check.sh: $spec has no rule $1" >&2; return 1 ;;
	esac
}

removed() { # RULE...
	local rule size
	for rule; do
		size=$(small "$rule")
		check "${size%% *}" "$rule" "${size#* }"
	done
}

lock() {
	spec=lock
	check holds None ''
	check holds None '-DLOSSES=1'
	check holds None '-DLOSSES=2 -DGUARDED=1'
	check holds None '-DACQUISITIONS=2 -DRESTARTS=1 -DGUARDED=1'
	check holds None '-DSTEPS=1'
	check holds None '-DTWINS=1'
	check holds None '-DTOKENS=1'
	check holds None '-DACQUISITIONS=2 -DTOKENS=1 -DLOSSES=1'
	check holds None '-DTOKENS=1 -DRESOURCE=1'
	if [ "$1" = deep ]; then
		check holds None '-DTOKENS=1 -DLOSSES=1' -DHC4
		check holds None '-DRESTARTS=1 -DGUARDED=1' -DHC4
	fi
	removed Majority Free Validity Owner Guard Restart Clocks Twins Grow Seed Raised Fenced
}

jobs() {
	spec=jobs
	check holds None '-DFLUSHES=1 -DOLDER=1 -DWRITES=1'
	check holds None '-DFLUSHES=1 -DOLDER=1'
	check holds None '-DBALLOTS=3 -DWRITES=1 -DLATEST=1'
	if [ "$1" = deep ]; then
		check holds None '-DBALLOTS=3 -DWRITES=1 -DFLUSHES=1 -DOLDER=1' -DHC4
	fi
	removed Promise Serve Fresh Ahead Due Order Raise Chosen Stale Vouched Floor Opened Asked Applied Forgotten Lacking Soon
}

lists() {
	spec=lists
	check holds None ''
	check holds None '-DOLD=7 -DNEW=11 -DCALM=11'
	check holds None '-DOLD=7 -DNEW=11 -DCALM=7'
	check holds None '-DOLD=7 -DNEW=11 -DLOSSES=1'
	check holds None '-DOLD=7 -DNEW=31 -DCALM=7' # a deploy that is rolled back
	check holds None '-DOLD=31 -DNEW=7 -DCALM=7'
	check holds None '-DOLD=7 -DNEW=7 -DLOSSES=2 -DCALM=7'
	check holds None '-DOLD=7 -DNEW=7 -DLISTS=2 -DLOSSES=1 -DOLDER=1 -DENDS=1 -DCALM=7'
	removed Claim Label Unused Turn Joined Taken Place All Last Guard First Outsider Same Moved Restart Id Again Votes Free Forget Over
}

changes() {
	spec=changes
	check holds None '-DOLD=1'
	check holds None '-DOLD=7'
	check holds None '-DOLD=1 -DS=4 -DLOSSES=1'
	check holds None '-DOLD=7 -DLISTS=2 -DLOSSES=2'
	if [ "$1" = deep ]; then
		check holds None '-DOLD=1 -DS=6' -DHC4
	fi
	removed Joined Owed Mark Told Heard Paid New Fresh Known Came Lost
}

# trace prints a schedule, of the lock the shortest one. The nodes of the lock keep their numbers.
trace() { # RULE
	local size
	size=$(small "$1")
	case $spec in
	lock) search "-DWITHOUT=$1 -DTRACE ${size#* }" -DREACH -i -m400 ;;
	*) search "-DWITHOUT=$1 ${size#* }" '' -m300 ;;
	esac
	if [ "$spec" = jobs ]; then
		echo "Node numbers are not identities: the nodes are sorted after each step, so node 0 of a line may be another node in the next."
	fi
	./pan -r "$spec.pml.trail" | grep -E '^ *(node|acquisition|ballot|a tick|a leader|the |and |server|list [0-9]|swap|messages|\.\.\.)' | grep -v '='
	echo "$(property) fails: $(grep -m1 'assertion violated' pan.out | sed 's/(at depth.*//')"
}

case ${1:-} in
trace) spec=${2:-}; trace "${3:-}"; exit ;;
'' | lock | jobs | lists | changes | deep) ;;
*) sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2 ;;
esac
row spec without size result states memory time
case ${1:-} in
lock) lock '' ;;
jobs) jobs '' ;;
lists) lists ;;
changes) changes '' ;;
*) lock "${1:-}"; jobs "${1:-}"; lists; changes "${1:-}" ;;
esac
exit "$failed"
