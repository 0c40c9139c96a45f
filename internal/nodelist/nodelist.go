// Package nodelist tells lists of nodes from lists that were split within a password.
package nodelist

import "strings"

// IsTorn reports whether a list of addresses may have been split at a comma of a password. Each part may then look like an
// address, and a part of the password like a host.
//
// So a list where some nodes have a password and others none is taken for torn, though it may be meant so. That is rare, since
// nodes of one list are set up alike, and has a way out; a part of a password in DNS queries and logs has none.
func IsTorn(nodes []string) bool {
	credentials, scheme := 0, false
	for _, node := range nodes {
		hasScheme := strings.Contains(node, "://")
		if strings.Contains(node, "@") {
			credentials++
			if scheme && !hasScheme {
				return true // the end of a URL that began in an earlier part
			}
		}
		scheme = scheme || hasScheme
	}
	return credentials > 0 && credentials < len(nodes)
}
