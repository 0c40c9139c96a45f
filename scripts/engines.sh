#!/usr/bin/env bash
# Runs the integration tests on engines other than the installed one, and prints a table.
#
#   engines.sh [ENGINE...]        tests the engines, by default those of Debian
#   engines.sh fetch ENGINE       only fetches it, and prints the path of its server
#
# An ENGINE is debian:RELEASE/PACKAGE; docker:IMAGE, from a registry; or the path of a server.
# An engine is fetched into a folder of the user, with the loader and the libraries of its release. Nothing is installed.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/redlockfx-engines
mirror=http://deb.debian.org/debian
keys=/usr/share/keyrings/debian-archive-keyring.gpg

# from_debian unpacks a package and all its dependencies into a folder. apt checks the signatures. It sees an empty list
# of installed packages, so it fetches the C library too.
from_debian() {
	local suite=${1%%/*} package=${1#*/} root=$2 apt=$2.apt
	mkdir -p "$apt"/{lists/partial,archives/partial,etc/apt.conf.d,etc/preferences.d} "$root"
	: >"$apt/status"
	echo "deb [signed-by=$keys] $mirror $suite main" >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::State::status "$apt/status";
		Dir::State::Lists "$apt/lists";
		Dir::Cache "$apt";
		Dir::Cache::archives "$apt/archives";
		Dir::Etc "$apt/etc";
		Dir::Etc::sourcelist "$apt/sources.list";
		Debug::NoLocking "true";
		APT::Sandbox::User "";
		APT::Install-Recommends "false";
		Acquire::Check-Valid-Until "false"; // a mirror may be weeks behind; signatures are checked all the same
	END
	APT_CONFIG=$apt/apt.conf apt-get update -qq >&2
	APT_CONFIG=$apt/apt.conf apt-get install -y -qq --download-only "$package" >&2
	local file
	for file in "$apt"/archives/*.deb; do
		dpkg-deb -x "$file" "$root"
	done
	rm -rf "$apt"
}

# from_docker unpacks an image into a folder.
from_docker() {
	local image=$1 root=$2 container
	mkdir -p "$root"
	container=$(docker create "$image")
	docker export "$container" | tar -x -C "$root" --exclude=dev --exclude=proc --exclude=sys
	docker rm "$container" >/dev/null
}

# server_in prints the path of the server relative to such a folder.
server_in() {
	local file
	for file in usr/bin/valkey-server usr/local/bin/valkey-server usr/bin/redis-server usr/local/bin/redis-server \
		usr/local/bin/dragonfly; do
		if [ -x "$1/$file" ]; then
			echo "$file"
			return
		fi
	done
	echo "engines: there is no server in $1" >&2
	return 1
}

# program prints a program that starts a server with the loader and the libraries of its folder.
program() {
	local root=$1 server=$2 loader libraries
	# The loader's other names may be links into the root of this machine.
	loader=$(find "$root/" \( -name 'ld-linux*.so.*' -o -name 'ld-musl-*.so.1' \) \( -type f -o -path '*-linux-gnu/*' \) -print -quit)
	libraries=$(find "$root/" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
	echo '#!/usr/bin/env bash'
	case $server in
	*dragonfly) # it refuses to start with most settings of Redis
		cat <<-'END'
			own=(--proactor_threads=1 --dbfilename=)
			while [ $# -gt 0 ]; do
				case $1 in
				--version) own+=("$1"); shift ;;
				--bind | --port | --dir | --requirepass | --maxmemory) own+=("$1=$2"); shift 2 ;;
				--*) shift 2 ;;
				*) shift ;; # a redis.conf
				esac
			done
			set -- "${own[@]}"
		END
		;;
	esac
	if [ -z "$loader" ]; then # statically linked
		printf 'exec "%s" "$@"\n' "$root/$server"
	else
		printf 'exec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$root/$server"
	fi
}

# name_of prints the name for the files of an engine.
name_of() { tr -c 'a-zA-Z0-9.\n' - <<<"$1"; }

# fetch prints a program that starts the server of an engine.
fetch() {
	local engine=$1 root server
	if [ -x "$engine" ]; then
		echo "$engine"
		return
	fi
	root=$cache/$(name_of "$engine")
	if [ ! -x "$root/server" ]; then
		rm -rf "$root" # the rest of an interrupted fetch
		case $engine in
		debian:*) from_debian "${engine#debian:}" "$root" ;;
		docker:*) from_docker "${engine#docker:}" "$root" ;;
		*)
			echo "engines: \"$engine\" is neither debian:RELEASE/PACKAGE nor docker:IMAGE nor the path of a server" >&2
			return 1
			;;
		esac
		server=$(server_in "$root")
		program "$root" "$server" >"$root/server.new"
		chmod +x "$root/server.new"
		"$root/server.new" --version >&2
		mv "$root/server.new" "$root/server" # the fetch is complete
	fi
	echo "$root/server"
}

if [ "${1:-}" = fetch ]; then
	fetch "${2:?an engine is needed}"
	exit
fi
[ $# -gt 0 ] || set -- debian:trixie/valkey-server debian:trixie/redis-server debian:forky/valkey-server

count() { grep -cE "^ *--- $1: " "$out" || true; } # the number of tests with this result

status=0 table=""
for engine; do
	server=$(fetch "$engine")
	version=$("$server" --version | head -n 1)
	version=${version%% sha=*}
	echo "engines: $engine: $version"
	out=$cache/$(name_of "$engine").txt
	mkdir -p "$cache"
	result=ok
	REDIS_SERVER=$server go -C integration test -count=1 -timeout=20m -v ./... >"$out" 2>&1 || result=FAILED status=1
	table+=$(printf '%-30s %-24s %6s %6s %7s  %s' "$engine" "$version" \
		"$(count PASS)" "$(count FAIL)" "$(count SKIP)" "$result")$'\n'
	if [ $result = FAILED ]; then
		grep -E '^ *--- FAIL: ' "$out" || tail -n 20 "$out"
		echo "engines: the whole output is in $out"
	fi
done
printf '\n%-30s %-24s %6s %6s %7s\n%s' engine server passed failed skipped "$table"
exit $status
