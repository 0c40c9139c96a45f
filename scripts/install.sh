#!/usr/bin/env bash
# Installs what the tests need besides Go: redis-server, redis-cli and, on Linux, the C compiler
# that -race asks for.
# The packages may start a Redis service on its usual port; the tests neither use it nor stop it.
set -euo pipefail

missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v redis-cli >/dev/null || missing+=(redis-tools)
[ "$(uname)" != Linux ] || command -v "$(go env CC)" >/dev/null || missing+=(gcc libc6-dev)
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=(env)
[ "$(id -u)" -eq 0 ] || as_root=(sudo env)

if command -v apt-get >/dev/null && command -v "${as_root[0]}" >/dev/null; then
	"${as_root[@]}" apt-get update -q
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${missing[@]}"
elif command -v brew >/dev/null; then
	brew install redis
else
	echo "install: missing, please install and run again: ${missing[*]} (Debian package names)" >&2
	exit 1
fi
