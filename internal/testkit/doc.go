// Package testkit is what tests of several packages share; internal/conformance has the cases for every lock. It contains:
//
//	nodetest    Redis nodes in memory, and links to them that break on demand
//	redisproc   real redis-server processes, and proxies to them that break on demand
//	faultplan   random plans of faults for in-memory nodes
//	aged        in-memory nodes whose restart guard is over
//	bubble      tests in virtual time with in-memory nodes
//	hostile     a server that answers nonsense
//	tlsnode     a node that accepts TLS connections
//	records     what the library keeps on a node, for tests that read or change it
//	passworded  a Locker whose node has a password
//	secret      node URLs that contain a password
//	written     a search for a secret in everything that a program may write
//	want        short assertions
//	testmain    what every TestMain does
//	repo        tests of the repository as a whole: imports, documents, examples, mutants
package testkit
