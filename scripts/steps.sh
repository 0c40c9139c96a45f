#!/usr/bin/env bash
# Runs targets of the Makefile one after the other and prints how long each took.
# It stops at the first one that fails, names it in its last line, and exits with its status. After
# that, there are only make's own words.
#
#   steps.sh NAME TARGET...
set -uo pipefail

name=$1
shift
table=""
print() {
	printf '\n%-14s %s\n%s%-14s %s\n' "$name" time "$table" all "$(clock $SECONDS)"
}
clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

for step; do
	began=$SECONDS
	"${MAKE:-make}" --no-print-directory "$step"
	status=$?
	table+=$(printf '%-14s %s' "$step" "$(clock $((SECONDS - began)))")$'\n'
	if [ $status -ne 0 ]; then
		print
		echo "$name: $step failed; run it again with: make $step" >&2
		exit $status
	fi
done
print
