#!/usr/bin/env bash
# Lints modules of this repository, given by their folders, in one load: all their packages are parsed and type-checked
# together, by one program with all analyzers.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOWORK=off go -C tools build -o "$work/lint" ./lint

patterns=()
for module; do
	patterns+=("./$module/...")
done
if [ "$*" = . ]; then
	# The linter needs all packages compiled: in the way in which the tests then find them.
	export GOFLAGS="${GOFLAGS:-} ${COMPILED:-}"
else
	# A workspace of all modules, so that one load finds them.
	export GOWORK=$work/go.work
	go work init . "$@"
fi
"$work/lint" "${patterns[@]}"
