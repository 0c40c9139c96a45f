#!/bin/sh
# Readiness probe of a node. It is ready when it grants locks, and when another node may be restarted: twice the longest
# TTL, and two seconds for the jobs, after its start and after its guard began. By then the node is past its guard, and has
# the leases and jobs again that it had lost. It writes nothing: TIME, HGET and INFO are all it asks.
#
# A node that nobody has used has no guard. It is ready that long after its start, since whatever was held before has
# ended, or was extended here and has begun a guard.
#
#   REDLOCK_MAX_TTL   the longest TTL of all services, in whole seconds: 10 unless set
#   REDLOCK_PREFIX    the key prefix: redlock unless set
#   REDLOCK_CLI       the client, with options such as -p or --tls: redis-cli unless set
#   REDLOCK_USER      the user, whose password is in REDISCLI_AUTH; none unless set
set -uf # no patterns: a guard is text

not_ready() {
	echo "not ready: $*"
	exit 1
}

# ask prints the reply to one command. Commands on standard input would have the client ask for the help of all commands.
ask() {
	[ -z "${REDLOCK_USER:-}" ] || set -- --user "$REDLOCK_USER" --no-auth-warning "$@"
	# shellcheck disable=SC2086 # the client may have options
	${REDLOCK_CLI:-redis-cli} --raw "$@" 2>&1 | tr -d '\r'
}

info() { printf '%s\n' "$about" | sed -n "s/^$1://p"; }
number() { # without the zeros in front, which would make it octal
	set -- "${1#"${1%%[!0]*}"}"
	echo "${1:-0}"
}

time=$(ask TIME) guard=$(ask HGET "{${REDLOCK_PREFIX:-redlock}}" g) about=$(ask INFO)
role=$(info role) uptime=$(info uptime_in_seconds)
seconds=${time%%
*} micros=${time#*
}
case $seconds,$micros,$uptime in
*[!0-9,]* | ,* | *,,* | *,) not_ready "it says \"$seconds\"" ;;
esac
[ "$role" = master ] || not_ready "it is no master, but \"$role\""

# All in µs. The guard is LAYOUT IDENTITY SINCE UNTIL LONGEST NODES USED.
now=$((seconds * 1000000 + micros)) longest=$((${REDLOCK_MAX_TTL:-10} * 1000000)) since=0
if [ -n "$guard" ]; then
	# shellcheck disable=SC2086 # into words
	set -- $guard
	[ $# -eq 7 ] && [ "$1" = 2 ] || not_ready "it has a guard of another version: \"$guard\""
	kept=$(($(number "$5") * 1000))
	[ "$kept" -le "$longest" ] || longest=$kept
	# That of another identity is from before the restart: the node begins its own when it is asked for a lock.
	[ "$2" != "$(info master_replid)" ] || since=$(number "$3")
fi
wait=$((2 * longest + 2000000))

# The server counts its uptime in whole seconds, rather one too many.
left=$((wait - uptime * 1000000 + 1000000))
[ "$left" -le 0 ] || not_ready "it started ${uptime}s ago, for another $((left / 1000000 + 1))s"
left=$((since + wait - now))
[ "$left" -le 0 ] || not_ready "its guard began $(((now - since) / 1000000))s ago, for another $((left / 1000000 + 1))s"
