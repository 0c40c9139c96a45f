#!/usr/bin/env bash
# Installs what the tests need besides Go: redis-server, redis-cli, prometheus with its promtool, PostgreSQL, MariaDB
# and, on Linux, the C compiler that -race needs. It also installs the packages in the arguments.
# The packages may start services on their usual ports; the tests neither use them nor stop them.
set -euo pipefail

missing=()
for name in "$@"; do
	command -v "$name" >/dev/null || missing+=("$name")
done
command -v redis-server >/dev/null || missing+=(redis-server)
command -v redis-cli >/dev/null || missing+=(redis-tools)
command -v prometheus >/dev/null && command -v promtool >/dev/null || missing+=(prometheus)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server)
[ "$(uname)" != Linux ] || command -v "$(go env CC)" >/dev/null || missing+=(gcc libc6-dev)
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=(env)
[ "$(id -u)" -eq 0 ] || as_root=(sudo env)

if command -v apt-get >/dev/null && command -v "${as_root[0]}" >/dev/null; then
	"${as_root[@]}" apt-get update -q
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
elif command -v brew >/dev/null; then
	brew install redis prometheus postgresql mariadb "$@"
else
	echo "install: missing, please install and run again: ${missing[*]} (Debian package names)" >&2
	exit 1
fi
