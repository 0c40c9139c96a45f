#!/usr/bin/env bash
# Installs what the tests on real servers need besides Go: redis-server, redis-cli and, on Linux, the C compiler that
# -race needs. It also installs the Debian packages in the arguments, if their commands are missing.
# The packages may start services on their usual ports; the tests neither use them nor stop them.
set -euo pipefail

# has reports whether the command of a Debian package is there.
has() {
	case $1 in
	redis-tools) command -v redis-cli ;;
	prometheus) command -v prometheus && command -v promtool ;;
	postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' || command -v initdb ;;
	mariadb-server) command -v mariadbd || [ -x /usr/sbin/mariadbd ] ;;
	gcc) [ "$(uname)" != Linux ] || command -v "$(go env CC)" ;;
	*) command -v "$1" ;;
	esac >/dev/null
}

missing=()
for package in redis-server redis-tools gcc "$@"; do
	has "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
[[ " ${missing[*]} " != *' gcc '* ]] || missing+=(libc6-dev)

as_root=(env)
[ "$(id -u)" -eq 0 ] || as_root=(sudo env)

if command -v apt-get >/dev/null && command -v "${as_root[0]}" >/dev/null; then
	"${as_root[@]}" apt-get update -q
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
elif command -v brew >/dev/null; then
	for package in "${missing[@]}"; do
		case $package in
		redis-server | redis-tools) brew install redis ;;
		mariadb-server) brew install mariadb ;;
		*) brew install "$package" ;;
		esac
	done
else
	echo "install: missing, please install and run again: ${missing[*]} (Debian package names)" >&2
	exit 1
fi
