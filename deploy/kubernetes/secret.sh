#!/bin/sh
# Prints the Secret of the nodes and services, with the passwords in LOCKS_PASSWORD and PROBE_PASSWORD:
#
#   sh deploy/kubernetes/secret.sh | kubectl apply --server-side -f -
#
# The nodes also accept LOCKS_PASSWORD_OTHER, if it is set. docs/kubernetes.md uses it to change the password.
#
# The script writes the passwords to no file, and passes them to no program as an argument, because everybody on the
# machine could read it.
set -eu
LC_ALL=C # so that A-Z and a-z are ASCII letters only

# is_plain exits unless a password has only letters and digits. It goes into URLs, an ACL file and YAML unescaped.
is_plain() {
	case $2 in
	'' | *[!A-Za-z0-9]*)
		echo "secret: $1 must consist of letters and digits only" >&2
		exit 1
		;;
	esac
}
is_plain LOCKS_PASSWORD "${LOCKS_PASSWORD-}"
is_plain PROBE_PASSWORD "${PROBE_PASSWORD-}"
locks=">$LOCKS_PASSWORD"
if [ -n "${LOCKS_PASSWORD_OTHER-}" ]; then
	is_plain LOCKS_PASSWORD_OTHER "$LOCKS_PASSWORD_OTHER"
	locks="$locks >$LOCKS_PASSWORD_OTHER"
fi

cat <<END
apiVersion: v1
kind: Secret
metadata:
  name: redlock-nodes
  labels:
    app.kubernetes.io/name: redlock
type: Opaque
stringData:
  locks-password: "$LOCKS_PASSWORD"
  probe-password: "$PROBE_PASSWORD"
  users.acl: |
END
while IFS= read -r line; do
	case $line in
	*'>change-me-locks '*) line="${line%%>change-me-locks*}$locks${line#*>change-me-locks}" ;;
	*'>change-me-probe '*) line="${line%%>change-me-probe*}>$PROBE_PASSWORD${line#*>change-me-probe}" ;;
	esac
	printf '    %s\n' "$line"
done <"$(dirname "$0")/nodes/users.acl"
