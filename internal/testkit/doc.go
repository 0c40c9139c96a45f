// Package testkit is the folder of everything that only tests use. It has no code of its own:
//
//	nodetest   Redis nodes in memory, and links to them that break on demand
//	redisproc  real redis-server processes, and proxies to them that break on demand
//	faultplan  random plans of faults for in-memory nodes
//	aged       in-memory nodes whose restart guard is over
//	bubble     tests in virtual time over in-memory nodes
//	records    what the lock keeps on a node, for tests that look at it or change it
//	want       short assertions
//	race       whether the race detector is on
//	testmain   what every TestMain does
//	repo       tests of the repository as a whole: imports, documents, examples, mutants
package testkit
