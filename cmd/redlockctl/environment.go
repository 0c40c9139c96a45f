package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// Variables that are used if their flag is not given. They are never the default of a flag, because help shows defaults.
const (
	nodesVariable     = "REDLOCK_NODES"
	nodesFileVariable = "REDLOCK_NODES_FILE"
	electionVariable  = "REDLOCK_ELECTION"
	prefixVariable    = "REDLOCK_PREFIX"
	tlsCAVariable     = "REDLOCK_TLS_CA"
	tlsCertVariable   = "REDLOCK_TLS_CERT"
	tlsKeyVariable    = "REDLOCK_TLS_KEY"
)

// or returns the value of a flag, or of a variable if the flag is not given.
func or(flag, variable string) string { return cmp.Or(flag, os.Getenv(variable)) }

// withoutNodes returns the environment without the variables that give access to the nodes.
func withoutNodes(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == nodesVariable || name == nodesFileVariable
	})
}
