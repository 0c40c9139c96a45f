#!/usr/bin/env bash
# Runs go mod tidy in modules of this repository. With -diff it shows the changes instead, and fails if there are any.
#
#   tidy.sh [-diff] MODULE...
#
# A module with a go.work requires a version of the library that the module proxy may not have yet, and go mod tidy ignores
# go.work. So it is tidied in a copy of its go.mod that replaces the library with its folder.
set -euo pipefail

library=github.com/redlockfx/redlockfx
cd "$(dirname "$0")/.."
diff=()
if [ "${1:-}" = -diff ]; then
	diff=(-diff)
	shift
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# released tidies a module that has a go.work, in a subshell that ends at the first error.
released() (
	set -e
	module=$1 folder=$work/$1
	mkdir -p "$folder"
	cp "$module/go.mod" "$module/go.sum" "$folder"
	go mod edit -replace="$library=$PWD" "$folder/go.mod"
	GOWORK=off go -C "$module" mod tidy -modfile="$folder/go.mod"
	go mod edit -dropreplace="$library" "$folder/go.mod"
	# A replaced module gets no checksums, so keep those of the last release.
	{ grep "^$library " "$module/go.sum" || true; cat "$folder/go.sum"; } | LC_ALL=C sort -s -t ' ' -k 1,1 >"$folder/go.sum.new"
	mv "$folder/go.sum.new" "$folder/go.sum"
	status=0
	for file in go.mod go.sum; do
		if [ ${#diff[@]} -gt 0 ]; then
			diff -u "$module/$file" "$folder/$file" || status=1
		else
			cp "$folder/$file" "$module/$file"
		fi
	done
	exit $status
)

status=0
for module; do
	echo "tidy $module"
	if [ "$module" != . ] && [ -f "$module/go.work" ]; then
		released "$module" &
		wait $! || status=1
	else
		GOWORK=off go -C "$module" mod tidy "${diff[@]+"${diff[@]}"}" || status=1
	fi
done
[ $status -eq 0 ] || echo 'tidy: not tidy, run make tidy' >&2
exit $status
