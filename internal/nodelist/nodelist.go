// Package nodelist reads the lists of nodes that people write: addresses and clients. It says what is wrong with them.
package nodelist

import "strings"

// IsTorn reports whether a list of addresses may have been split at a comma of a password. Each part may then look like
// an address, and a part of the password like a host.
//
// Therefore a list in which only some nodes have a password counts as torn, even if it is intended. That is rare, since
// nodes of one list are configured alike, and the user can work around it. A part of a password that has reached DNS
// queries and logs cannot be taken back.
func IsTorn(nodes []string) bool {
	credentials, scheme := 0, false
	for _, node := range nodes {
		hasScheme := strings.Contains(node, "://")
		if strings.Contains(node, "@") {
			credentials++
			if scheme && !hasScheme {
				return true // the end of a URL that started in an earlier part
			}
		}
		scheme = scheme || hasScheme
	}
	return credentials > 0 && credentials < len(nodes)
}
