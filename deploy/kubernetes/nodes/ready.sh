#!/bin/sh
# Readiness probe of a node. A ready node grants locks, and another node may be restarted. A node is ready when twice the
# longest TTL, and two seconds for the jobs, have passed since its start and since the start of its guard. By then its
# guard is over, and it has the leases and jobs again that it had lost. The probe only reads, with TIME, HGET and INFO.
#
# A node that nobody has used has no guard. It is ready that long after its start: any earlier lease has expired by then,
# or has been extended on this node and has thus started a guard.
#
#   REDLOCK_MAX_TTL   the longest TTL of all services, in whole seconds: 10 unless set
#   REDLOCK_PREFIX    the key prefix: redlock unless set
#   REDLOCK_CLI       the client, with options such as -p or --tls: redis-cli unless set
#   REDLOCK_USER      the user, whose password is in REDISCLI_AUTH; none unless set
set -uf # no globbing: a guard is text

not_ready() {
	echo "not ready: $*"
	exit 1
}

# ask prints the reply to one command. The command is an argument: if it came from standard input, the client would also
# request the help texts of all commands.
ask() {
	[ -z "${REDLOCK_USER:-}" ] || set -- --user "$REDLOCK_USER" --no-auth-warning "$@"
	# shellcheck disable=SC2086 # the client may have options
	${REDLOCK_CLI:-redis-cli} --raw "$@" 2>&1 | tr -d '\r'
}

info() { printf '%s\n' "$about" | sed -n "s/^$1://p"; }
number() { # without leading zeros, which would make it octal
	set -- "${1#"${1%%[!0]*}"}"
	echo "${1:-0}"
}

time=$(ask TIME) guard=$(ask HGET "{${REDLOCK_PREFIX:-redlock}}" g) about=$(ask INFO)
role=$(info role) uptime=$(info uptime_in_seconds)
seconds=${time%%
*} micros=${time#*
}
case $seconds,$micros,$uptime in
*[!0-9,]* | ,* | *,,* | *,) not_ready "it answers \"$seconds\"" ;;
esac
[ "$role" = master ] || not_ready "it is not a master: its role is \"$role\""

# All in µs. The guard is LAYOUT IDENTITY SINCE UNTIL LONGEST LABEL USED.
now=$((seconds * 1000000 + micros)) longest=$((${REDLOCK_MAX_TTL:-10} * 1000000)) since=0
if [ -n "$guard" ]; then
	# shellcheck disable=SC2086 # split into words
	set -- $guard
	[ $# -eq 7 ] && [ "$1" = 3 ] || not_ready "it has a guard of another version: \"$guard\""
	kept=$(($(number "$5") * 1000))
	[ "$kept" -le "$longest" ] || longest=$kept
	# A guard with another identity is from before the restart. The node starts a new one when it is asked for a lock.
	[ "$2" != "$(info master_replid)" ] || since=$(number "$3")
fi
wait=$((2 * longest + 2000000))

# The server reports its uptime in whole seconds, which may be one too many.
left=$((wait - uptime * 1000000 + 1000000))
[ "$left" -le 0 ] || not_ready "it started ${uptime}s ago, $((left / 1000000 + 1))s left"
left=$((since + wait - now))
[ "$left" -le 0 ] || not_ready "its guard began $(((now - since) / 1000000))s ago, $((left / 1000000 + 1))s left"
